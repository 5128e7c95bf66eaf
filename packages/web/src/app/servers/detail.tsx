import { CircleCheck, CircleMinus, CircleX, Info } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { waitsForPerson } from '../activity/open-questions.ts'
import { useAction, useHost, useRead, useTopic } from '../data/host.tsx'
import { useFormat, useOutcome, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote, Fixes } from '../text/fixes.tsx'
import { lineDiff } from '../text/line-diff.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { Summary } from '../text/summary.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { StateLamp } from '../ui/state-lamp.tsx'
import { Button, Lamp, Note, uiStyle } from '../ui/ui.tsx'
import { ConfigPart } from './config-part.tsx'
import { FoldersPart, SamplingPart, TrustPart } from './parts.tsx'
import style from './servers.module.css'
import { offersOf, type ServerRow, useRemedy } from './state.tsx'

/** The details of one server, and every action on it. */
export function ServerDetail({ name, row }: { name: string; row: ServerRow }): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const { client } = useHost()
  const { connection } = row
  const action = useAction(useRemedy(name))
  const signOut = useAction(() => client.call('logins.signOut', { server: name }))
  const [isSwitching, setSwitching] = useState(false)
  const isOff = connection.state === 'disabled'
  const isRemote = /^https?:/.test(plainText(row.origin))
  const error = action.error ?? signOut.error
  return (
    <div className={screen.stack}>
      <Link href={routes.servers.to()} className={screen.back ?? ''}>
        ‹ {t('nav.servers')}
      </Link>
      <div className={style.head}>
        <ServerBadge name={name} />
        <h2>
          <bdi>{name}</bdi>
        </h2>
        <StateLamp state={connection.state} />
      </div>
      {'fixes' in connection && (
        <Note tone={connection.state === 'failed' ? 'danger' : 'warn'}>
          <HostText text={connection.reason} />
          <Fixes fixes={connection.fixes} page={name} />
        </Note>
      )}
      {!('fixes' in connection) && 'reason' in connection && (
        <p className={style.quiet}>
          <HostText text={connection.reason} />
        </p>
      )}
      <div className={style.acts}>
        {!isOff && (
          <Button small isOff={action.isRunning} onClick={() => action.run('reconnect')} data-act="restart">
            {t(connection.state === 'ready' ? 'remedy.restart' : 'remedy.reconnect')}
          </Button>
        )}
        {connection.state === 'needs-sign-in' && (
          <Button small look="primary" isOff={action.isRunning} onClick={() => action.run('signIn')}>
            {t('remedy.signIn')}
          </Button>
        )}
        {connection.state === 'needs-approval' && (
          <Button small look="primary" isOff={action.isRunning} onClick={() => action.run('start')}>
            {t('remedy.start')}
          </Button>
        )}
        {!isOff && (
          <Button small isOff={action.isRunning} onClick={() => action.run('examine')} data-act="examine">
            {t('remedy.examine')}
          </Button>
        )}
        {isRemote && connection.state === 'ready' && (
          <Button small look="quiet" isOff={signOut.isRunning} onClick={() => signOut.run()}>
            {t('remedy.signOut')}
          </Button>
        )}
        <Button
          small
          look="quiet"
          aria-expanded={isSwitching}
          onClick={() => setSwitching(!isSwitching)}
          data-act="switch"
        >
          {t(isOff ? 'remedy.switchOn' : 'remedy.switchOff')}
        </Button>
        <Link
          className={`${uiStyle.button} ${uiStyle.small} ${uiStyle.quiet}`}
          href={routes.inspectServer.to(name)}
        >
          {t('nav.inspect')}
        </Link>
      </div>
      {error !== undefined && <ErrorNote error={error} />}
      {isSwitching && <Switching server={name} isOff={isOff} onClose={() => setSwitching(false)} />}
      <Diagnosis server={name} />
      <dl className={screen.facts}>
        {connection.state === 'ready' && (
          <>
            <dt>{t('servers.revision')}</dt>
            <dd>
              <SafeText text={connection.revision} /> · {t(`era.${connection.era}`)}
            </dd>
          </>
        )}
        <dt>{t('servers.since')}</dt>
        <dd>{dateTime(new Date(connection.sinceMs).toISOString())}</dd>
        <dt>{t('servers.offers')}</dt>
        <dd>{offersOf(t, row) || t('servers.nothing')}</dd>
        <dt>{t('servers.sandbox')}</dt>
        <dd>
          {t(
            connection.sandboxed === true
              ? 'servers.sandboxed'
              : isRemote
                ? 'servers.remote'
                : 'servers.noSandbox',
          )}
        </dd>
      </dl>
      <ConfigPart server={name} row={row} />
      <TrustPart server={name} />
      <FoldersPart server={name} />
      <SamplingPart server={name} />
      <Newest server={name} />
    </div>
  )
}

const signs = {
  same: { sign: ' ', className: undefined },
  removed: { sign: '-', className: uiStyle.danger },
  added: { sign: '+', className: uiStyle.ok },
} as const

/** Switches a server on or off in its file, whose change is shown before it is written. */
function Switching({
  server,
  isOff,
  onClose,
}: {
  server: string
  isOff: boolean
  onClose: () => void
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const plan = useRead('config.plan', { kind: 'enable', server, enabled: isOff })
  const write = useAction(async (id: string) => {
    await client.call('config.write', { id })
    onClose()
  })
  const error = plan.error ?? write.error
  const lines =
    plan.data === undefined ? [] : lineDiff(plainText(plan.data.before), plainText(plan.data.after), 2)
  return (
    <section className={style.change} aria-label={t('servers.switching')}>
      {plan.data !== undefined && (
        <>
          <p>
            {t('servers.willWrite')} <SafeText text={plan.data.file} />
          </p>
          <pre>
            {lines.map(
              (line, n) =>
                line.kind !== 'skipped' && (
                  // biome-ignore lint/suspicious/noArrayIndexKey: the lines of one change have no other identity
                  <div key={n} className={signs[line.kind].className}>
                    {signs[line.kind].sign} <SafeText text={untrusted(line.text)} maxCharacters={400} />
                  </div>
                ),
            )}
          </pre>
        </>
      )}
      {error != null && <ErrorNote error={error} />}
      <div className={style.acts}>
        <Button
          small
          look="primary"
          isOff={plan.data === undefined || write.isRunning}
          onClick={() => plan.data !== undefined && write.run(plan.data.id)}
          data-act="write"
        >
          {t(isOff ? 'remedy.switchOn' : 'remedy.switchOff')}
        </Button>
        <Button small look="quiet" onClick={onClose}>
          {t('chat.keep')}
        </Button>
      </div>
    </section>
  )
}

const outcomes = {
  ok: { tone: 'ok', Icon: CircleCheck },
  note: { tone: 'info', Icon: Info },
  failed: { tone: 'danger', Icon: CircleX },
  skipped: { tone: 'off', Icon: CircleMinus },
} as const

/** The steps of the last diagnosis, with the suggested fixes of each. */
function Diagnosis({ server }: { server: string }): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  const runs = useTopic('runs')
  const steps = [...(runs?.values() ?? [])].findLast(
    ({ kind, label }) => kind === 'examine' && plainText(label) === server,
  )?.steps
  if (steps === undefined) return null
  return (
    <section className={style.part} aria-label={t('servers.diagnosis')}>
      <h3>{t('servers.diagnosis')}</h3>
      <ul className={screen.rows}>
        {steps.map(({ step, outcome, message, advice, fixes, durationMs }) => {
          const { tone, Icon } = outcomes[outcome]
          return (
            <li key={step} className={style.step}>
              <Lamp tone={tone} icon={<Icon size={16} strokeWidth={1.5} aria-label={t(`step.${outcome}`)} />}>
                {t(`step.name.${step}`)}
              </Lamp>
              <span className={screen.muted}>
                <HostText text={message} maxCharacters={400} inline />
                {advice !== undefined && (
                  <div>
                    <HostText text={advice} maxCharacters={400} inline />
                  </div>
                )}
                {fixes !== undefined && <Fixes fixes={fixes} page={server} />}
              </span>
              <span className={screen.muted}>{duration(durationMs)}</span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function Newest({ server }: { server: string }): ReactNode {
  const t = useText()
  const { clock } = useFormat()
  const outcome = useOutcome()
  const activities = useRead('activity.list', { server, limit: 10 }).data
  if (activities === undefined || activities.length === 0) return null
  return (
    <section className={style.part} aria-label={t('nav.activity')}>
      <h3>{t('nav.activity')}</h3>
      <ul className={`${screen.rows} ${style.newest}`}>
        {activities.toReversed().map((row) => (
          <li key={row.id}>
            <Link href={routes.activity.to(row.id)} className={screen.row ?? ''}>
              <span className={screen.muted}>{clock(row.at)}</span>
              <span className={`${screen.grow} ${screen.muted}`}>
                <Summary event={{ ...row, summary: plainText(row.summary) }} maxCharacters={120} />
              </span>
              <span className={row.outcome === 'error' ? uiStyle.danger : screen.muted}>
                {outcome(waitsForPerson({ kind: row.kind, status: row.outcome }) ? 'waits' : row.outcome)}
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}
