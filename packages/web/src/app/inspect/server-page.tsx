import type { CatalogTool, TraceEvent } from '@jackfield/host/browser'
import type { Methods, ServerRow } from '@jackfield/host/client'
import { Activity, CircleCheck, CircleMinus } from 'lucide-react'
import { type ReactNode, useCallback, useState } from 'react'
import { Link } from 'wouter'
import { useAction, useHost, useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { remedies, useRemedy } from '../servers/state.tsx'
import { ErrorNote, Fixes } from '../text/fixes.tsx'
import { isRecord } from '../text/pieces.ts'
import { HostText, JsonTree, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { type FromHost, plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { Button, Lamp, Note, smallIcon, uiStyle } from '../ui/ui.tsx'
import style from './inspect.module.css'
import { definitionErrorsOf, logLevels } from './tool.tsx'

const capabilityNames = ['tools', 'prompts', 'resources', 'completions', 'logging', 'tasks'] as const

type Details = NonNullable<FromHost<Methods['servers.details']['result']>>

/** A server: its description, connection and capabilities, and problems of its definitions. */
export function ServerPage({ server }: { server: string }): ReactNode {
  const t = useText()
  const remedyAction = useAction(useRemedy(server))
  const row = useTopic('servers')?.get(server)
  const details = useRead('servers.details', { server }, { everyMs: 10_000 }).data ?? undefined
  const output = useRead(
    'trace.list',
    { filter: `server:"${server.replaceAll('"', '\\"')}" kind:warning,stderr`, limit: 50 },
    { everyMs: 5_000 },
  ).data
  if (row === undefined) return null
  const remedy = remedies[row.connection.state]
  const warnings = output?.filter(({ kind }) => kind === 'warning') ?? []
  const lines = output?.filter(({ kind }) => kind === 'stderr') ?? []
  return (
    <div className={style.serverPage}>
      <Connection server={server} row={row} details={details} />
      {details !== undefined && <Capabilities capabilities={details.capabilities} />}
      <Problems server={server} warnings={warnings} />
      {details?.instructions !== undefined && (
        <div className={style.card}>
          <h2>{t('inspect.instructions')}</h2>
          <SafeTextBox text={details.instructions} label={t('inspect.instructions')} />
        </div>
      )}
      {lines.length > 0 && (
        <div className={style.card}>
          <h2>stderr</h2>
          <SafeTextBox
            text={untrusted(lines.map(({ summary }) => plainText(summary)).join('\n'))}
            label="stderr"
          />
        </div>
      )}
      {remedyAction.error !== undefined && <ErrorNote error={remedyAction.error} />}
      <div className={style.bar}>
        {remedy !== undefined && (
          <Button small isOff={remedyAction.isRunning} onClick={() => remedyAction.run(remedy)}>
            {t(`remedy.${remedy}`)}
          </Button>
        )}
        <Link className={`${uiStyle.button} ${uiStyle.small}`} href={routes.server.to(server)}>
          {t('inspect.manage')}
        </Link>
        <Link
          className={`${uiStyle.button} ${uiStyle.small}`}
          href={routes.activities.to({
            filter: `server:${/\s/.test(server) ? JSON.stringify(server) : server}`,
          })}
        >
          <Activity {...smallIcon} /> {t('nav.activity')}
        </Link>
      </div>
    </div>
  )
}

/** Who the server says it is, how it is connected, and why not. */
function Connection({
  server,
  row: { origin, connection },
  details,
}: {
  server: string
  row: FromHost<ServerRow>
  details: Details | undefined
}): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  return (
    <div className={style.card}>
      <h2>
        {details?.info === undefined ? (
          <bdi>{server}</bdi>
        ) : (
          <>
            <SafeText text={untrusted(plainText(details.info.title ?? details.info.name))} inline />{' '}
            <span className={style.quiet}>
              <SafeText text={details.info.version} inline />
            </span>
          </>
        )}
      </h2>
      <dl className={style.facts}>
        <dt>{t('servers.origin')}</dt>
        <dd>
          <SafeText text={origin} />
        </dd>
        {details !== undefined && (
          <>
            <dt>{t('servers.revision')}</dt>
            <dd>
              <SafeText text={details.revision} inline /> · {t(`era.${details.era}`)}
            </dd>
          </>
        )}
        <dt>{t('servers.since')}</dt>
        <dd>{dateTime(new Date(connection.sinceMs).toISOString())}</dd>
        {details?.pid !== undefined && (
          <>
            <dt>{t('inspect.pid')}</dt>
            <dd>{details.pid}</dd>
          </>
        )}
        {details?.info?.websiteUrl !== undefined && (
          <>
            <dt>{t('inspect.website')}</dt>
            <dd>
              <SafeText text={details.info.websiteUrl} inline maxCharacters={200} />
            </dd>
          </>
        )}
      </dl>
      {'fixes' in connection && (
        <Note tone="danger">
          <HostText text={connection.reason} />
          <Fixes fixes={connection.fixes} />
        </Note>
      )}
      {details !== undefined && <Latency server={server} />}
      {isRecord(details?.capabilities) && details.capabilities['logging'] !== undefined && (
        <LogLevel server={server} />
      )}
    </div>
  )
}

/** The capabilities of a server and its extensions. */
function Capabilities({ capabilities: declared }: { capabilities: unknown }): ReactNode {
  const t = useText()
  const capabilities = isRecord(declared) ? declared : {}
  const extensions = isRecord(capabilities['extensions']) ? capabilities['extensions'] : {}
  return (
    <div className={style.card}>
      <h2>{t('inspect.capabilities')}</h2>
      <ul className={style.chips}>
        {capabilityNames.map((name) => {
          const has = capabilities[name] !== undefined
          const members = isRecord(capabilities[name]) ? Object.keys(capabilities[name]) : []
          return (
            <li key={name} data-has={has}>
              <Lamp
                tone={has ? 'ok' : 'off'}
                icon={has ? <CircleCheck {...smallIcon} /> : <CircleMinus {...smallIcon} />}
              >
                <code>{name}</code>
              </Lamp>{' '}
              <span className={style.quiet}>
                <SafeText text={untrusted(members.join(', '))} inline maxCharacters={120} />
              </span>
            </li>
          )
        })}
      </ul>
      {Object.keys(extensions).length > 0 && (
        <>
          <h3>{t('inspect.extensions')}</h3>
          <JsonTree value={extensions} label={t('inspect.extensions')} />
        </>
      )}
      <details>
        <summary>{t('inspect.exactly')}</summary>
        <JsonTree value={capabilities} label={t('inspect.capabilities')} />
      </details>
    </div>
  )
}

/** Invalid schemas, definitions that are withheld, and warnings about a server. */
function Problems({
  server,
  warnings,
}: {
  server: string
  warnings: readonly FromHost<TraceEvent>[]
}): ReactNode {
  const t = useText()
  const tools = plain<CatalogTool[] | undefined>(useRead('catalog.tools', { server }).data) ?? []
  const trust = useRead('trust.get', { server }).data
  const definitionErrors = tools.flatMap((entry) =>
    definitionErrorsOf(entry).map((error) => ({ name: entry.tool.name, ...error })),
  )
  const withheld = trust?.items.filter(({ state, listed }) => state !== 'pinned' && listed) ?? []
  if (definitionErrors.length === 0 && withheld.length === 0 && warnings.length === 0) return null
  return (
    <div className={style.card}>
      <h2>{t('inspect.problems')}</h2>
      {definitionErrors.map(({ name, schema, reason }) => (
        <Note key={`${name} ${schema}`} tone="danger">
          <Link href={routes.tool.to(server, name)}>
            <SafeText text={untrusted(name)} inline />
          </Link>{' '}
          {t(`inspect.fault.${schema}`)} <HostText text={untrusted(reason)} maxCharacters={300} />
        </Note>
      ))}
      {withheld.map(({ what, name, state }) => (
        <Note key={`${what} ${plainText(name)}`} tone="warn">
          <code>{what}</code> <SafeText text={name} inline maxCharacters={120} /> – {t(`trust.${state}`)}{' '}
          <Link href={routes.inbox.to()}>{t('nav.inbox')}</Link>
        </Note>
      ))}
      {warnings.map(({ id, summary }) => (
        <Note key={id} tone="warn">
          <SafeText text={summary} maxCharacters={400} />
        </Note>
      ))}
    </div>
  )
}

/** The latency of pings; the last ones as bars. */
function Latency({ server }: { server: string }): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  const { client } = useHost()
  const [times, setTimes] = useState<readonly number[]>([])
  const action = useAction(
    useCallback(async () => {
      const ms = await client.call('servers.ping', { server })
      setTimes((previous) => [...previous, ms].slice(-20))
    }, [client, server]),
  )
  const maxMs = Math.max(...times, 1)
  const last = times.at(-1)
  return (
    <div className={style.bar}>
      <Button small isOff={action.isRunning} onClick={() => void action.run()} data-act="ping">
        {t('inspect.ping')}
      </Button>
      {last !== undefined && (
        <>
          <span role="status">{duration(Math.round(last * 10) / 10)}</span>
          <svg className={style.spark} viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
            {times.map((ms, n) => (
              <rect
                // biome-ignore lint/suspicious/noArrayIndexKey: times have no other identity
                key={n}
                x={n * 5}
                width={4}
                y={20 - Math.max(1, (ms / maxMs) * 20)}
                height={Math.max(1, (ms / maxMs) * 20)}
              />
            ))}
          </svg>
        </>
      )}
      {action.error !== undefined && <ErrorNote error={action.error} />}
    </div>
  )
}

function LogLevel({ server }: { server: string }): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [level, setLevel] = useState<(typeof logLevels)[number]>('info')
  const action = useAction(
    useCallback(
      async (next: (typeof logLevels)[number]) => {
        await client.call('servers.setLogLevel', { server, level: next })
        setLevel(next)
      },
      [client, server],
    ),
  )
  return (
    <div className={style.bar}>
      <label htmlFor="log-level">{t('inspect.logLevel')}</label>
      <select
        id="log-level"
        className={`${uiStyle.input} ${style.narrow}`}
        value={level}
        onChange={({ target }) => {
          const next = logLevels.find((name) => name === target.value)
          if (next !== undefined) void action.run(next)
        }}
      >
        {logLevels.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
      {action.error !== undefined && <ErrorNote error={action.error} />}
    </div>
  )
}
