import type { ConnectionState } from '@jackfield/host/browser'
import { CircleCheck, CircleMinus, CircleX, Info } from 'lucide-react'
import { type ReactNode, useCallback } from 'react'
import { Link } from 'wouter'
import { useAct, useHost, useNow, useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Foreign } from '../text/foreign.tsx'
import { foreign, plainText } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { StateLamp } from '../ui/state-lamp.tsx'
import { Badge, Button, Empty, Lamp, Note, uiStyle } from '../ui/ui.tsx'

type State = ConnectionState['state']

/** What puts a server right, where one act does. */
const remedies: { readonly [S in State]?: 'reconnect' | 'signIn' | 'examine' | 'start' } = {
  degraded: 'reconnect',
  reconnecting: 'reconnect',
  'needs-sign-in': 'signIn',
  'needs-approval': 'start',
  asleep: 'start',
  failed: 'reconnect',
}

type RunRow =
  NonNullable<ReturnType<typeof useTopic<'runs'>>> extends ReadonlyMap<string, infer R> ? R : never
type Row =
  NonNullable<ReturnType<typeof useTopic<'servers'>>> extends ReadonlyMap<string, infer R> ? R : never

/** Every server as a row with its state, the reason and one remedy. */
export default function Servers({ server }: { server?: string }): ReactNode {
  const t = useText()
  const rows = useTopic('servers')
  if (rows === undefined) return null
  if (rows.size === 0) return <NoServers />
  const here = server === undefined ? undefined : rows.get(server)
  return (
    <div className={screen.split} data-open={here !== undefined}>
      <section className={screen.pane} aria-label={t('nav.servers')}>
        <div className={screen.bar}>
          <Link className={`${uiStyle.button} ${uiStyle.small}`} href={routes.setting.to('registry')}>
            {t('servers.add')}
          </Link>
        </div>
        <ul className={screen.rows}>
          {[...rows].map(([name, row]) => (
            <ServerRow key={name} name={name} row={row} isHere={name === server} />
          ))}
        </ul>
      </section>
      <section className={screen.pane} aria-label={t('servers.detail')}>
        {server !== undefined && here !== undefined ? (
          <Detail name={server} row={here} />
        ) : (
          <p className={screen.nothing}>{t(server === undefined ? 'servers.choose' : 'servers.unknown')}</p>
        )}
      </section>
    </div>
  )
}

/** What to do first: add a server, or take those that other applications know. */
function NoServers(): ReactNode {
  const t = useText()
  const found = useRead('config.found', {}).data ?? []
  return (
    <Empty title={t('servers.empty')}>
      <p>{t('servers.emptyMeans')}</p>
      <p className={screen.bar}>
        <Link className={`${uiStyle.button} ${uiStyle.primary}`} href={routes.setting.to('registry')}>
          {t('servers.add')}
        </Link>
        {found.length > 0 && (
          <Link className={uiStyle.button ?? ''} href={`${routes.setting.to('registry')}?way=import`}>
            {t('servers.import', { count: found.length })}
          </Link>
        )}
      </p>
    </Empty>
  )
}

function useRemedy(name: string): (kind: 'reconnect' | 'signIn' | 'examine' | 'start') => Promise<unknown> {
  const { client } = useHost()
  return useCallback(
    async (kind) => {
      if (kind === 'start') return client.call('servers.start', { servers: [name] })
      const id = await client.call('runs.start', { request: { kind, server: name } })
      const run = await client.call('runs.wait', { id })
      if (run.fault !== undefined) throw new Error(run.fault.message)
      return run
    },
    [client, name],
  )
}

function ServerRow({ name, row, isHere }: { name: string; row: Row; isHere: boolean }): ReactNode {
  const t = useText()
  const { age } = useFormat()
  const now = useNow(10_000)
  const { connection, quarantined } = row
  const act = useAct(useRemedy(name))
  const remedy = remedies[connection.state]
  const reason = 'reason' in connection ? connection.reason : undefined
  return (
    <li className={screen.row} aria-current={isHere || undefined}>
      <Badge name={name} identity={plainText(row.origin)} />
      <Link href={routes.server.to(name)} className={screen.name ?? ''}>
        <bdi>{name}</bdi>
      </Link>
      <StateLamp state={connection.state} />
      <span className={`${screen.grow} ${screen.muted}`}>
        {offersOf(t, row)}
        {quarantined > 0 && ` · ${t('servers.quarantined', { count: quarantined })}`}
      </span>
      <span className={screen.muted}>{age(now - connection.sinceMs)}</span>
      {remedy !== undefined && (
        <Button small isOff={act.isRunning} onClick={() => act.run(remedy)}>
          {t(`remedy.${remedy}`)}
        </Button>
      )}
      {connection.state !== 'ready' && reason !== undefined && (
        <span className={`${screen.line} ${screen.muted}`}>
          <Foreign text={reason} most={200} inline />{' '}
          {'fix' in connection && <Foreign text={connection.fix} most={200} inline />}
        </span>
      )}
      {act.error !== undefined && (
        <span className={screen.line}>
          <Note tone="danger" live>
            <Foreign text={foreign(act.error.message)} />
          </Note>
        </span>
      )}
    </li>
  )
}

/** How much of each kind a server offers; empty where nothing is known. */
function offersOf(t: ReturnType<typeof useText>, row: Row): string {
  return (['tools', 'prompts', 'resources', 'templates'] as const)
    .flatMap((kind) => (row[kind] > 0 ? [t(`offers.${kind}`, { count: row[kind] })] : []))
    .join(' · ')
}

const outcomes = {
  ok: { tone: 'ok', Icon: CircleCheck },
  note: { tone: 'info', Icon: Info },
  failed: { tone: 'danger', Icon: CircleX },
  skipped: { tone: 'off', Icon: CircleMinus },
} as const

/** The steps of an examination so far, with what to do about each. */
function Examination({ steps }: { steps: NonNullable<RunRow['steps']> }): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  return (
    <section className={screen.stack} aria-label={t('remedy.examine')}>
      <h2>{t('remedy.examine')}</h2>
      <ul className={screen.rows}>
        {steps.map(({ step, outcome, message, fix, durationMs }) => {
          const { tone, Icon } = outcomes[outcome]
          return (
            <li key={step} className={screen.row}>
              <Lamp tone={tone} icon={<Icon size={16} strokeWidth={1.5} aria-label={t(`step.${outcome}`)} />}>
                {step}
              </Lamp>
              <span className={`${screen.grow} ${screen.muted}`}>
                <Foreign text={message} most={400} inline />
                {fix !== undefined && (
                  <div>
                    <Foreign text={fix} most={400} inline />
                  </div>
                )}
              </span>
              <span className={screen.muted}>{duration(durationMs)}</span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function Detail({ name, row }: { name: string; row: Row }): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { connection } = row
  const act = useAct(useRemedy(name))
  const runs = useTopic('runs')
  const examination = [...(runs?.values() ?? [])].findLast(
    ({ kind, label }) => kind === 'examine' && plainText(label) === name,
  )
  const trust = useRead('trust.get', { server: name }).data
  const activities = useRead('activity.list', { server: name, limit: 10 }).data
  return (
    <div className={screen.stack}>
      <Link href={routes.servers.to()} className={screen.back ?? ''}>
        ‹ {t('nav.servers')}
      </Link>
      <h2>
        <bdi>{name}</bdi>
      </h2>
      <StateLamp state={connection.state} />
      {'fix' in connection && (
        <Note tone="danger">
          <Foreign text={connection.reason} /> <Foreign text={connection.fix} />
        </Note>
      )}
      <dl className={screen.facts}>
        <dt>{t('servers.origin')}</dt>
        <dd>
          <Foreign text={row.origin} />
        </dd>
        {connection.state === 'ready' && (
          <>
            <dt>{t('servers.revision')}</dt>
            <dd>
              <Foreign text={connection.revision} /> · {connection.era}
            </dd>
          </>
        )}
        <dt>{t('servers.since')}</dt>
        <dd>{dateTime(new Date(connection.sinceMs).toISOString())}</dd>
        <dt>{t('servers.offers')}</dt>
        <dd>{offersOf(t, row) || t('servers.nothing')}</dd>
        {trust !== undefined && (
          <>
            <dt>{t('servers.trust')}</dt>
            <dd>
              {t('servers.pinned', {
                pinned: trust.items.filter(({ state }) => state === 'pinned').length,
                all: trust.items.filter(({ listed }) => listed).length,
              })}
            </dd>
          </>
        )}
        {connection.sandboxed === true && (
          <>
            <dt>{t('servers.sandbox')}</dt>
            <dd>{t('form.yes')}</dd>
          </>
        )}
      </dl>
      {trust?.findings.map(({ message, severity }) => (
        <Note
          key={plainText(message)}
          tone={severity === 'danger' ? 'danger' : severity === 'warning' ? 'warn' : 'info'}
        >
          <Foreign text={message} />
        </Note>
      ))}
      <div className={screen.bar}>
        <Button small isOff={act.isRunning} onClick={() => act.run('reconnect')}>
          {t('remedy.reconnect')}
        </Button>
        <Button small isOff={act.isRunning} onClick={() => act.run('examine')}>
          {t('remedy.examine')}
        </Button>
        <Link className={screen.muted ?? ''} href={routes.inspectServer.to(name)}>
          {t('nav.inspect')}
        </Link>
      </div>
      {act.error !== undefined && (
        <Note tone="danger" live>
          <Foreign text={foreign(act.error.message)} />
        </Note>
      )}
      {examination?.steps !== undefined && <Examination steps={examination.steps} />}
      <h2>{t('nav.activity')}</h2>
      <ul className={screen.rows}>
        {activities?.toReversed().map((row) => (
          <li key={row.id}>
            <Link href={routes.activity.to(row.id)} className={screen.row ?? ''}>
              <span className={screen.grow}>
                <Foreign text={row.summary} most={120} inline />
              </span>
              <span className={screen.muted}>{row.outcome}</span>
            </Link>
          </li>
        ))}
      </ul>
    </div>
  )
}
