import { appOf, type CatalogTool, type PolicyExplanation } from '@jackfield/host/browser'
import type { Run } from '@jackfield/host/client'
import { CircleCheck, CircleX, Link2, ShieldBan, Square, Terminal } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { AppView } from '../apps/app-view.tsx'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { ChangeTable } from '../questions/arguments.tsx'
import { ruleKind } from '../questions/rule-kind.ts'
import { routes } from '../routes.ts'
import { Author } from '../text/author.tsx'
import { ErrorNote, Fixes } from '../text/fixes.tsx'
import { changedValues, isRecord } from '../text/pieces.ts'
import { ExactJson, HostText, JsonTree, SafeText } from '../text/safe-text.tsx'
import { fromHost, plain, untrusted } from '../text/untrusted-text.ts'
import { Button, Lamp, Note, smallIcon, uiStyle, Views } from '../ui/ui.tsx'
import { Contents } from './contents.tsx'
import { ExportButton } from './export-button.tsx'
import style from './inspect.module.css'
import { Exchanges, Messages, useTraffic } from './messages.tsx'
import type { InspectorRun } from './run.ts'
import { issuesOf } from './schema.ts'

type View = 'result' | 'messages' | 'http' | 'why' | 'app'

/** The result of a run in views: result, messages, HTTP exchanges and policy decision; compared with the run before. */
export function RunResult({
  of,
  server,
  tool,
  link,
  command,
}: {
  of: InspectorRun
  server: string
  tool?: CatalogTool | undefined
  /** The address that fills in the same arguments. */
  link: string
  /** The command line that does the same. */
  command: string | undefined
}): ReactNode {
  const t = useText()
  const { row, run, isRunning } = of
  const [view, setView] = useState<View>('result')
  const activity = row?.activity
  const events = useTraffic(activity, isRunning)
  if (row === undefined) return <p className={style.nothing}>{t('inspect.notRun')}</p>
  const exchanges = events.filter(({ kind }) => kind === 'http').length
  const app = tool === undefined ? undefined : appOf(tool.tool)
  return (
    <>
      <Outcome of={of} bytes={run === undefined ? undefined : bytesOf(run)} />
      <Views
        label={t('inspect.result')}
        views={[
          ['result', t('inspect.result')],
          ['messages', t('inspect.messages', { count: events.length - exchanges })],
          ...(exchanges > 0 ? [['http', t('inspect.http', { count: exchanges })] as const] : []),
          ...(tool === undefined ? [] : [['why', t('inspect.why')] as const]),
          ...(app === undefined ? [] : [['app', t('inspect.app')] as const]),
        ]}
        value={view}
        onChange={setView}
      />
      {view === 'result' && run !== undefined && (
        <ResultBody run={run} of={of} server={server} tool={tool} events={events.map(({ id }) => id)} />
      )}
      {view === 'result' && run === undefined && isRunning && <Waiting question={of.question} />}
      {view === 'messages' && <Messages events={events.filter(({ kind }) => kind !== 'http')} />}
      {view === 'http' && <Exchanges events={events} />}
      {view === 'why' && tool !== undefined && <Why run={run} tool={tool} row={row} />}
      {view === 'app' && app !== undefined && tool !== undefined && run?.request.kind === 'call' && (
        <AppView
          key={row.id}
          tool={tool.name}
          uri={app}
          server={server}
          activity={activity}
          input={run.request.arguments}
          result={run.result?.call?.result}
        />
      )}
      <div className={style.bar}>
        {command !== undefined && (
          <CopyButton text={command} name={t('inspect.copyCommand')} icon={<Terminal {...smallIcon} />} />
        )}
        <CopyButton
          text={new URL(link, window.location.href).href}
          name={t('inspect.copyLink')}
          icon={<Link2 {...smallIcon} />}
        />
        {activity !== undefined && !isRunning && (
          <ExportButton
            label={t('inspect.saveRecording')}
            formats={['recording']}
            filter={`row:${activity}`}
            isWithin
          />
        )}
      </div>
    </>
  )
}

/** Shows whether a run waits for the user or the server. */
function Waiting({ question }: { question: string | undefined }): ReactNode {
  const t = useText()
  if (question === undefined) return <p className={style.quiet}>{t('inspect.waiting')}</p>
  return (
    <Note tone="warn" live>
      {t('inspect.waitsForYou')} <Link href={routes.question.to(question)}>{t('inspect.answer')}</Link>
    </Note>
  )
}

export function CopyButton({
  text,
  name,
  icon,
}: {
  text: string
  name: string
  icon?: ReactNode
}): ReactNode {
  const t = useText()
  const [isCopied, setCopied] = useState(false)
  return (
    <Button
      small
      onClick={() => {
        navigator.clipboard.writeText(text).then(
          () => {
            setCopied(true)
            setTimeout(() => setCopied(false), 2_000)
          },
          () => {},
        )
      }}
    >
      {icon} <span role="status">{isCopied ? t('inspect.copied') : name}</span>
    </Button>
  )
}

function bytesOf(run: Run): number | undefined {
  const { call, read, prompt } = run.result ?? {}
  const value = call?.result ?? read ?? prompt
  return value === undefined ? undefined : new TextEncoder().encode(JSON.stringify(value)).length
}

function Outcome({
  of: { row, run, error },
  bytes,
}: {
  of: InspectorRun
  bytes: number | undefined
}): ReactNode {
  const t = useText()
  const { duration, number, time } = useFormat()
  if (row === undefined) return null
  const call = run?.result?.call
  const [tone, Icon, word] =
    row.state === 'running'
      ? (['info', Square, 'run.running'] as const)
      : row.state === 'stopped'
        ? (['off', Square, 'run.stopped'] as const)
        : call?.denied === true
          ? (['warn', ShieldBan, 'run.denied'] as const)
          : row.state === 'failed' || call?.error !== undefined
            ? (['danger', CircleX, 'run.failed'] as const)
            : call?.result.isError === true
              ? (['danger', CircleX, 'run.toolFailed'] as const)
              : (['ok', CircleCheck, 'run.done'] as const)
  return (
    <>
      <div className={style.outcome} role="status">
        {row.state !== 'running' && (
          <Lamp tone={tone} icon={<Icon {...smallIcon} />}>
            {t(word)}
          </Lamp>
        )}
        {row.durationMs !== undefined && <span>{duration(row.durationMs)}</span>}
        {bytes !== undefined && <span>{t('content.bytes', { count: number(bytes) })}</span>}
        <span>{time(row.at)}</span>
        {row.activity !== undefined && (
          <Link href={routes.activity.to(row.activity)}>{t('card.activity', { id: row.activity })}</Link>
        )}
      </div>
      {row.fault !== undefined && row.state !== 'stopped' && (
        <Note tone="danger" live>
          <HostText text={row.fault.message} />
          {row.fault.fixes !== undefined && <Fixes fixes={row.fault.fixes} />}
        </Note>
      )}
      {call?.error !== undefined && row.state !== 'stopped' && (
        <Note tone="danger" live>
          <SafeText text={untrusted(`${call.error.code}: ${call.error.message}`)} />
          {call.error.fixes !== undefined && <Fixes fixes={fromHost(call.error.fixes)} />}
        </Note>
      )}
      {error !== undefined && <ErrorNote error={error} />}
    </>
  )
}

function resultOf(run: Run | undefined): unknown {
  const { call, read, prompt } = run?.result ?? {}
  return call?.result ?? read ?? prompt
}

/** The result, and its differences from the run before. */
function ResultBody({
  run,
  of: { previous },
  server,
  tool,
  events,
}: {
  run: Run
  of: InspectorRun
  server: string
  tool: CatalogTool | undefined
  events: readonly number[]
}): ReactNode {
  const t = useText()
  const value = resultOf(run)
  const before = resultOf(previous)
  const changes = before === undefined || value === undefined ? undefined : changedValues(before, value)
  const { call, read, prompt } = run.result ?? {}
  const structured = call?.result.structuredContent
  return (
    <>
      {changes !== undefined && changes.length > 0 && (
        <details className={style.changes}>
          <summary className={style.changed}>{t('inspect.changed', { count: changes.length })}</summary>
          <ChangeTable changes={changes} />
        </details>
      )}
      {changes !== undefined && changes.length === 0 && (
        <p className={style.quiet}>{t('inspect.unchanged')}</p>
      )}
      {structured !== undefined && (
        <Structured value={structured} schema={tool?.tool.outputSchema} label={t('inspect.structured')} />
      )}
      {call?.error !== undefined && tool?.tool.outputSchema !== undefined && (
        <Refused events={events} schema={tool.tool.outputSchema} />
      )}
      {call !== undefined && call.error === undefined && (
        <Contents blocks={call.result.content} server={server} label={t('inspect.result')} />
      )}
      {read !== undefined && (
        <Contents blocks={read.contents} server={server} label={t('inspect.contents')} />
      )}
      {prompt !== undefined && (
        <>
          {prompt.description !== undefined && (
            <p className={style.quiet}>
              <SafeText text={untrusted(prompt.description)} maxCharacters={1_000} />
            </p>
          )}
          {prompt.messages.map(({ role, content }, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: messages of one prompt have no other identity
            <div className={style.prompt} key={n}>
              <h3>{t(`inspect.role.${role}`)}</h3>
              <Contents blocks={content} server={server} label={t(`inspect.role.${role}`)} />
            </div>
          ))}
        </>
      )}
      {call?.result._meta !== undefined && (
        <details>
          <summary>
            <code>_meta</code>
          </summary>
          <JsonTree value={call.result._meta} label="_meta" />
        </details>
      )}
    </>
  )
}

/** Structured content with the validation issues of its schema by JSON Pointer. */
function Structured({ value, schema, label }: { value: unknown; schema: unknown; label: string }): ReactNode {
  const t = useText()
  const [view, setView] = useState<'tree' | 'exact'>('tree')
  const issues = schema === undefined ? undefined : issuesOf(schema, value)
  return (
    <div className={style.block}>
      <header className={style.blockHead}>
        <span>{label}</span>
        {issues?.length === 0 && (
          <Lamp tone="ok" icon={<CircleCheck {...smallIcon} />}>
            {t('inspect.valid')}
          </Lamp>
        )}
        {issues !== undefined && issues.length > 0 && (
          <Lamp tone="danger" icon={<CircleX {...smallIcon} />}>
            {t('inspect.invalid', { count: issues.length })}
          </Lamp>
        )}
        <Views
          label={t('content.view')}
          views={[
            ['tree', t('content.as.tree')],
            ['exact', 'JSON'],
          ]}
          value={view}
          onChange={setView}
        />
      </header>
      {issues !== undefined && issues.length > 0 && (
        <ul className={style.issues}>
          {issues.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>
                <SafeText text={untrusted(path === '' ? '/' : path)} inline />
              </code>{' '}
              <HostText text={untrusted(message)} inline />
            </li>
          ))}
        </ul>
      )}
      {view === 'tree' ? <JsonTree value={value} label={label} /> : <ExactJson value={value} label={label} />}
    </div>
  )
}

/** The structured content of a response that the client rejected, taken from the message. */
function Refused({ events, schema }: { events: readonly number[]; schema: unknown }): ReactNode {
  const t = useText()
  const pairs = useRead(
    'trace.pairs',
    { filter: `method:tools/call id:${events.join(',')}`, limit: 20 },
    { enabled: events.length > 0 },
  ).data
  const answer = plain<unknown>(pairs?.at(-1)?.answer?.payload)
  const result = isRecord(answer) && isRecord(answer['result']) ? answer['result'] : undefined
  if (result === undefined || !('structuredContent' in result)) return null
  return <Structured value={result['structuredContent']} schema={schema} label={t('inspect.refused')} />
}

/** The decision of policy, and its reasons. */
function Why({
  run,
  tool,
  row,
}: {
  run: Run | undefined
  tool: CatalogTool
  row: NonNullable<InspectorRun['row']>
}): ReactNode {
  const t = useText()
  const { dateTime } = useFormat()
  const request = run?.request
  const args = request?.kind === 'call' ? request.arguments : {}
  const enabled = request?.kind === 'call'
  const explanation = plain<PolicyExplanation | undefined>(
    useRead(
      'policy.explain',
      { tool: tool.name, arguments: args, caller: 'person', typed: true },
      { enabled },
    ).data,
  )
  const model = plain<PolicyExplanation | undefined>(
    useRead('policy.explain', { tool: tool.name, arguments: args, caller: 'chat' }, { enabled }).data,
  )
  const decision = run?.result?.call?.decision ?? explanation?.decision
  if (decision === undefined || row.state === 'running')
    return <p className={style.quiet}>{t('inspect.waiting')}</p>
  const sentence = (rule: string): string => t('why.rule', { kind: ruleKind(rule), rule })
  return (
    <div className={style.why}>
      <dl className={style.facts}>
        <dt>{t('why.thisCall')}</dt>
        <dd>
          <strong className={verdictTone[decision.verdict]}>{t(`verdict.${decision.verdict}`)}</strong>{' '}
          {sentence(decision.rule)}
          {decision.author !== undefined && (
            <>
              {' · '}
              <Author text={untrusted(decision.author)} />
            </>
          )}
          {decision.at !== undefined && ` · ${dateTime(decision.at)}`}
        </dd>
        {model !== undefined && (
          <>
            <dt>{t('why.modelCall')}</dt>
            <dd>
              <strong className={verdictTone[model.decision.verdict]}>
                {t(`verdict.${model.decision.verdict}`)}
              </strong>{' '}
              {sentence(model.decision.rule)}
            </dd>
          </>
        )}
        {explanation?.result !== undefined && (
          <>
            <dt>{t('why.result')}</dt>
            <dd>
              {t(`verdict.${explanation.result.verdict}`)} ·{' '}
              <SafeText text={untrusted(explanation.result.rule)} inline />
            </dd>
          </>
        )}
        {explanation !== undefined && explanation.labels.length > 0 && (
          <>
            <dt>{t('why.labels')}</dt>
            <dd>
              <SafeText text={untrusted(explanation.labels.join(', '))} inline />
            </dd>
          </>
        )}
        <dt>{t('why.hints')}</dt>
        <dd>
          <SafeText text={untrusted(JSON.stringify(tool.tool.annotations ?? {}))} inline />
        </dd>
      </dl>
      <h3>{t('why.matched', { count: explanation?.matched.length ?? 0 })}</h3>
      {explanation?.matched.map((rule) => (
        <details key={rule.id}>
          <summary>
            <strong className={verdictTone[rule.verdict]}>{t(`verdict.${rule.verdict}`)}</strong>{' '}
            <SafeText text={untrusted(rule.id)} inline />{' '}
            {rule.author !== undefined && (
              <span className={style.quiet}>
                <Author text={untrusted(rule.author)} />
              </span>
            )}
          </summary>
          <JsonTree value={rule} label={rule.id} />
        </details>
      ))}
      {explanation !== undefined && explanation.grants.length > 0 && (
        <>
          <h3>{t('why.grants')}</h3>
          <JsonTree value={explanation.grants} label={t('why.grants')} />
        </>
      )}
    </div>
  )
}

const verdictTone = { allow: uiStyle.ok, ask: uiStyle.warn, deny: uiStyle.danger }
