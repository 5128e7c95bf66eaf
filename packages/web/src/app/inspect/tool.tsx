import type { Activity, CatalogTool } from '@jackfield/host/browser'
import type { RunRequest } from '@jackfield/host/client'
import { BookOpen, Repeat2, ShieldAlert, TriangleAlert } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { ArgumentsProblem, readArguments, Unreadable } from '../questions/arguments.tsx'
import { useUnreadable } from '../questions/json-text.ts'
import { lastCallOf } from '../questions/last-call.ts'
import { routes, useAddress } from '../routes.ts'
import { isRecord } from '../text/pieces.ts'
import { HostText, JsonTree, SafeText } from '../text/safe-text.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { Button, Empty, Field, Lamp, Note, smallIcon, uiStyle } from '../ui/ui.tsx'
import { Arguments, JsonField } from './arguments.tsx'
import style from './inspect.module.css'
import { RunResult } from './result.tsx'
import { useRun } from './run.ts'
import { Fold, RunLayout } from './run-layout.tsx'
import { defaultsOf, type Schema, schemaError } from './schema.ts'

export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

/** The annotations of a tool as badges. */
export function ToolHints({ tool: { tool } }: { tool: CatalogTool }): ReactNode {
  const t = useText()
  const { readOnlyHint, destructiveHint, idempotentHint } = tool.annotations ?? {}
  return (
    <>
      {readOnlyHint === true && (
        <Lamp tone="info" icon={<BookOpen {...smallIcon} />}>
          {t('hint.readOnly')}
        </Lamp>
      )}
      {readOnlyHint !== true && destructiveHint === true && (
        <Lamp tone="warn" icon={<ShieldAlert {...smallIcon} />}>
          {t('hint.destructive')}
        </Lamp>
      )}
      {readOnlyHint !== true && idempotentHint === true && (
        <Lamp tone="info" icon={<Repeat2 {...smallIcon} />}>
          {t('hint.idempotent')}
        </Lamp>
      )}
    </>
  )
}

/** The errors in the input and output schema of a tool. */
export function definitionErrorsOf({
  tool,
}: CatalogTool): readonly { schema: 'input' | 'output'; reason: string }[] {
  const input = schemaError(tool.inputSchema)
  const output = tool.outputSchema === undefined ? undefined : schemaError(tool.outputSchema)
  return [
    ...(input === undefined ? [] : [{ schema: 'input' as const, reason: input }]),
    ...(output === undefined ? [] : [{ schema: 'output' as const, reason: output }]),
  ]
}

/** A tool with a form of its arguments, and the result of its last run. */
export function ToolPage({ server, name }: { server: string; name: string }): ReactNode {
  const tools = useRead('catalog.tools', { server })
  const calls = useRead('activity.list', { server, kind: 'call', limit: 200 }, { isFresh: true })
  const t = useText()
  const entry = plain<CatalogTool[] | undefined>(tools.data)?.find(({ tool }) => tool.name === name)
  if (entry === undefined) return tools.isPending ? null : <Empty title={t('inspect.unknown')} />
  // A cached list lacks the calls since it was read.
  if (!calls.isFetchedAfterMount) return null
  const last = lastCallOf(plain<Activity[] | undefined>(calls.data) ?? [], name, '9999')
  return <Tool server={server} entry={entry} last={last} />
}

function Tool({
  server,
  entry,
  last: newest,
}: {
  server: string
  entry: CatalogTool
  last: ReturnType<typeof lastCallOf>
}): ReactNode {
  const t = useText()
  const { age } = useFormat()
  const { query } = useAddress()
  const { name } = entry.tool
  const schema: Schema = isRecord(entry.tool.inputSchema) ? entry.tool.inputSchema : {}
  const [linked] = useState(() => linkedArguments(query.get('args')))
  const [last] = useState(newest)
  const first = linked ?? last?.arguments ?? defaultsOf(schema)
  const [text, setText] = useState(() => JSON.stringify(first, null, 2))
  const [options, setOptions] = useState<RunOptions>({ meta: '', seconds: '', level: '' })
  const run = useRun(server, `tools/${name}`)
  const [unreadable, report] = useUnreadable()
  /** Incremented when the form is cleared, so that it is mounted again. */
  const [formVersion, setFormVersion] = useState(0)
  const read = readArguments(text)
  const args = 'value' in read ? read.value : {}
  const readOptions = requestOptions(options)
  const clear = (): void => {
    setText(JSON.stringify(defaultsOf(schema), null, 2))
    setFormVersion(formVersion + 1)
  }
  const definitionErrors = definitionErrorsOf(entry)
  return (
    <RunLayout
      server={server}
      kind="tools"
      title={name}
      run={run}
      action={t('inspect.run')}
      isOff={'problem' in read || unreadable.length > 0 || readOptions === undefined}
      onRun={() => run.start({ kind: 'call', tool: entry.name, arguments: args, ...readOptions })}
      head={
        <>
          <Description entry={entry} />
          {definitionErrors.map(({ schema, reason }) => (
            <Note key={schema} tone="danger">
              {t(`inspect.fault.${schema}`)} <HostText text={untrusted(reason)} maxCharacters={600} />
            </Note>
          ))}
          {(linked !== undefined || last !== undefined) && run.row === undefined && (
            <div className={style.from}>
              <span>
                {linked !== undefined
                  ? t('inspect.fromLink')
                  : t('inspect.fromLast', { age: age(Date.now() - Date.parse(last?.at ?? '')) })}
              </span>
              <Button small look="quiet" onClick={clear}>
                {t('inspect.clear')}
              </Button>
            </div>
          )}
        </>
      }
      form={
        <>
          <Arguments key={formVersion} schema={schema} text={text} onChange={setText} report={report} />
          <Unreadable fields={unreadable} />
          <Fold title={t('inspect.options')}>
            <OptionFields options={options} onChange={setOptions} />
          </Fold>
          <Fold title={t('inspect.definition')}>
            <JsonTree value={entry.tool} label={t('inspect.definition')} />
          </Fold>
        </>
      }
    >
      <RunResult
        of={run}
        server={server}
        tool={entry}
        link={routes.tool.to(server, name, args)}
        command={commandLine('call', server, name, args)}
      />
      {run.row === undefined && definitionErrors.length > 0 && (
        <p className={style.quiet}>
          <TriangleAlert {...smallIcon} /> {t('inspect.faultMeans')}
        </p>
      )}
    </RunLayout>
  )
}

/** What a tool says about itself: hints, title and description. */
function Description({ entry }: { entry: CatalogTool }): ReactNode {
  const { name, description, title } = entry.tool
  return (
    <>
      <div className={style.hints}>
        <ToolHints tool={entry} />
      </div>
      {title !== undefined && title !== name && (
        <p className={style.subtitle}>
          <SafeText text={untrusted(title)} maxCharacters={200} />
        </p>
      )}
      {description !== undefined && (
        <p className={style.about}>
          <SafeText text={untrusted(description)} maxCharacters={600} />
        </p>
      )}
    </>
  )
}

/** The options of a run as they are typed. An empty text is the default. */
interface RunOptions {
  readonly meta: string
  readonly seconds: string
  readonly level: string
}

const secondsIn = (text: string): number | undefined =>
  text.trim() === '' ? undefined : Number(text.replace(',', '.'))

const metaIn = (text: string): ReturnType<typeof readArguments> | undefined =>
  text.trim() === '' ? undefined : readArguments(text)

/** The options as members of the request; undefined while one is invalid. */
function requestOptions(options: RunOptions): Partial<Extract<RunRequest, { kind: 'call' }>> | undefined {
  const meta = metaIn(options.meta)
  const seconds = secondsIn(options.seconds)
  const level = logLevels.find((name) => name === options.level)
  if (meta !== undefined && 'problem' in meta) return undefined
  if (seconds !== undefined && !(seconds > 0 && seconds < 2_000_000)) return undefined
  return {
    ...(meta !== undefined && { meta: plain(meta.value) }),
    ...(seconds !== undefined && { timeoutMs: Math.max(1, Math.round(seconds * 1_000)) }),
    ...(level !== undefined && { logLevel: level }),
  }
}

/** The time limit, the log level and the `_meta` of a run. */
function OptionFields({
  options,
  onChange,
}: {
  options: RunOptions
  onChange: (options: RunOptions) => void
}): ReactNode {
  const t = useText()
  const meta = metaIn(options.meta)
  const seconds = secondsIn(options.seconds)
  const update = (part: Partial<RunOptions>): void => onChange({ ...options, ...part })
  return (
    <>
      <div className={style.optionRow}>
        <Field
          label={t('inspect.timeLimit')}
          hint={t('inspect.timeLimitMeans')}
          problem={seconds !== undefined && !(seconds > 0) ? t('form.notNumber') : undefined}
        >
          {(ids) => (
            <input
              {...ids}
              className={uiStyle.input}
              inputMode="decimal"
              autoComplete="off"
              value={options.seconds}
              onChange={({ target }) => update({ seconds: target.value })}
            />
          )}
        </Field>
        <Field label={t('inspect.logLevel')} hint={t('inspect.logLevelMeans')}>
          {(ids) => (
            <select
              {...ids}
              className={uiStyle.input}
              value={options.level}
              onChange={({ target }) => update({ level: target.value })}
            >
              <option value="">{t('inspect.asServer')}</option>
              {logLevels.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <div className={uiStyle.label}>
        <code>_meta</code>
      </div>
      <JsonField text={options.meta} label="_meta" onChange={(next) => update({ meta: next })} />
      {meta !== undefined && 'problem' in meta && (
        <p className={uiStyle.problem}>
          <ArgumentsProblem problem={meta.problem} />
        </p>
      )}
    </>
  )
}

/** The arguments of a link, where they are a JSON object. */
export function linkedArguments(text: string | null): Record<string, unknown> | undefined {
  if (text === null) return undefined
  const read = readArguments(text)
  return 'value' in read ? read.value : undefined
}

/** The shell command of the same run, with every word quoted. */
export function commandLine(
  command: 'call' | 'read' | 'prompt',
  server: string,
  name: string,
  args?: Readonly<Record<string, unknown>>,
): string {
  const commandWords = ['jackfield', command, server, name]
  if (args !== undefined && Object.keys(args).length > 0)
    commandWords.push(
      ...(command === 'prompt'
        ? Object.entries(args).map(
            ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
          )
        : ['--args', JSON.stringify(args)]),
    )
  return commandWords.map(quoted).join(' ')
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
