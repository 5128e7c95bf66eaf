import type { CatalogTool, ReplayRequest, TraceEvent, TraceNode } from '@jackfield/host/browser'
import { HostError } from '@jackfield/host/client'
import { Link2, MessageSquare, Pencil, RotateCcw, ScanSearch, Split, X } from 'lucide-react'
import { type ReactNode, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useFormat, useOutcome, useText } from '../i18n/i18n.ts'
import { Arguments, JsonField } from '../inspect/arguments.tsx'
import { Contents } from '../inspect/contents.tsx'
import { Exchange, Payload } from '../inspect/messages.tsx'
import { CopyButton } from '../inspect/result.tsx'
import { ChangeTable, readArguments, Unreadable } from '../questions/arguments.tsx'
import { useUnreadable } from '../questions/json-text.ts'
import { ruleKind } from '../questions/rule-kind.ts'
import { routes } from '../routes.ts'
import { Author } from '../text/author.tsx'
import { ErrorNote } from '../text/fixes.tsx'
import { isRecord } from '../text/pieces.ts'
import { SafeText } from '../text/safe-text.tsx'
import { Summary } from '../text/summary.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { Button, Note, smallIcon, uiStyle } from '../ui/ui.tsx'
import style from './activity.module.css'
import { KindIcon, timeOf, toneOf } from './event-row.tsx'

const maxCaused = 50

/** The details of one event: facts, causes, payload, caused events, and actions. */
export function Details({
  id,
  onSelect,
  onFilter,
  onClose,
}: {
  id: number
  onSelect: (event: number) => void
  onFilter: (filter: string) => void
  onClose: () => void
}): ReactNode {
  const t = useText()
  const { data, isPending } = useRead('trace.get', { id }, { everyMs: 3_000 })
  const tree = plain<readonly TraceNode[] | undefined>(
    useRead('trace.tree', { filter: `id:${id}`, limit: 1 }).data,
  )
  const { chain, caused } = useMemo(() => causesOf(tree ?? [], id), [tree, id])
  const tools = plain<CatalogTool[] | undefined>(useRead('catalog.tools', {}).data)
  const close = (
    <Button small look="quiet" onClick={onClose} aria-label={t('activity.close')} data-act="close-details">
      <X {...smallIcon} />
    </Button>
  )
  if (data == null)
    return (
      <div className={style.details}>
        <header className={style.detailsHead}>
          <h2>#{id}</h2>
          {close}
        </header>
        {!isPending && <p className={style.note}>{t('activity.unknown')}</p>}
      </div>
    )
  const event = plain<TraceEvent>(data)
  const payload: unknown = plain(data.payload)
  const { kind, method, server, tool } = event
  const conversation = conversationOf(payload)
  const canRepeat = method === 'tools/call' || method === 'resources/read' || method === 'prompts/get'
  const entry =
    method === 'tools/call'
      ? tools?.find((candidate) => candidate.server === server && candidate.tool.name === tool)
      : undefined
  return (
    <div className={style.details}>
      <header className={style.detailsHead}>
        <KindIcon event={event} />
        <h2 tabIndex={-1}>
          <Summary event={event} maxCharacters={200} />
        </h2>
        {close}
      </header>
      <Facts event={event} payload={payload} />
      {chain.length > 0 && (
        <nav className={style.chain} aria-label={t('activity.cause')}>
          <span>{t('activity.cause')}</span>
          {chain.map((causeEvent) => (
            <button type="button" key={causeEvent.id} onClick={() => onSelect(causeEvent.id)}>
              <Summary event={causeEvent} maxCharacters={60} />
            </button>
          ))}
        </nav>
      )}
      {canRepeat && <Repeat key={id} id={id} entry={entry} server={server ?? ''} />}
      <div className={style.acts}>
        {conversation !== undefined && (
          <Link className={`${uiStyle.button} ${uiStyle.small}`} href={routes.chat.to(conversation)}>
            <MessageSquare {...smallIcon} /> {t('activity.openConversation')}
          </Link>
        )}
        {entry !== undefined && server !== null && tool !== null && (
          <Link
            className={`${uiStyle.button} ${uiStyle.small}`}
            href={routes.tool.to(server, tool, argumentsOf(payload))}
          >
            <ScanSearch {...smallIcon} /> {t('nav.inspect')}
          </Link>
        )}
        {caused.length > 0 && (
          <Button small onClick={() => onFilter(`cause:${id}`)}>
            <Split {...smallIcon} /> {t('activity.showCaused')}
          </Button>
        )}
        <CopyButton
          text={new URL(routes.activities.to({ event: id }), window.location.href).href}
          name={t('inspect.copyLink')}
          icon={<Link2 {...smallIcon} />}
        />
      </div>
      {kind === 'http' ? <Exchange event={event} /> : <Payload id={id} label={t('activity.recorded')} />}
      {caused.length > 0 && <CausedEvents caused={caused} onSelect={onSelect} />}
    </div>
  )
}

/** When and where an event happened, how it ended, and what decided about it. */
function Facts({ event, payload }: { event: TraceEvent; payload: unknown }): ReactNode {
  const t = useText()
  const { dateTime, duration, number } = useFormat()
  const outcome = useOutcome()
  const { kind, method, server } = event
  return (
    <dl className={style.facts}>
      <dt>{t('activity.at')}</dt>
      <dd>
        {dateTime(event.at)} · {timeOf(event.at)}
      </dd>
      <dt>{t('activity.kindName')}</dt>
      <dd>
        {t(`activity.kind.${kind}`)}
        {event.direction !== null && ` · ${t(`messages.${event.direction}`)}`}
      </dd>
      {event.status !== null && (
        <>
          <dt>{t('activity.outcome')}</dt>
          <dd>
            <span className={style.status} data-tone={toneOf(event)}>
              {outcome(event.status)}
            </span>
            {event.durationMs !== null && ` · ${duration(event.durationMs)}`}
          </dd>
        </>
      )}
      {server !== null && (
        <>
          <dt>{t('activity.server')}</dt>
          <dd>
            <Link href={routes.inspectServer.to(server)}>
              <bdi>{server}</bdi>
            </Link>
          </dd>
        </>
      )}
      {method !== null && (
        <>
          <dt>{t('stats.method')}</dt>
          <dd>
            <code>
              <SafeText text={untrusted(method)} inline />
            </code>
          </dd>
        </>
      )}
      <dt>{t('activity.number')}</dt>
      <dd>
        #{event.id}
        {event.activity !== null && ` · ${t('card.activity', { id: event.activity })}`}
        {event.rpcId !== null && ` · id ${event.rpcId}`}
        {` · ${t('content.bytes', { count: number(event.bytes) })}`}
      </dd>
      <Decided payload={payload} />
    </dl>
  )
}

interface CausedEvent {
  readonly event: TraceEvent
  /** The number of events between both. */
  readonly depth: number
}

function CausedEvents({
  caused,
  onSelect,
}: {
  caused: readonly CausedEvent[]
  onSelect: (event: number) => void
}): ReactNode {
  const t = useText()
  const outcome = useOutcome()
  return (
    <section className={style.caused} aria-label={t('activity.caused')}>
      <h3>{t('activity.caused')}</h3>
      <ul>
        {caused.slice(0, maxCaused).map(({ event, depth }) => (
          <li key={event.id} ref={(element) => element?.style.setProperty('--depth', String(depth))}>
            <button type="button" onClick={() => onSelect(event.id)}>
              <KindIcon event={event} />
              <span className={style.cut}>
                <Summary event={event} maxCharacters={120} />
              </span>
              <span className={style.status} data-tone={toneOf(event)}>
                {event.status !== null && outcome(event.status)}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {caused.length > maxCaused && (
        <p className={style.note}>{t('json.more', { count: caused.length - maxCaused })}</p>
      )}
    </section>
  )
}

/** The causes of an event, the root first, and the events that it caused. */
function causesOf(
  nodes: readonly TraceNode[],
  id: number,
): { chain: readonly TraceEvent[]; caused: readonly CausedEvent[] } {
  const caused: CausedEvent[] = []
  const below = (node: TraceNode, depth: number): void => {
    for (const child of node.children) {
      caused.push({ event: child.event, depth })
      below(child, depth + 1)
    }
  }
  const find = (node: TraceNode, above: readonly TraceEvent[]): readonly TraceEvent[] | undefined => {
    if (node.event.id === id) {
      below(node, 0)
      return above
    }
    for (const child of node.children) {
      const path = find(child, [...above, node.event])
      if (path !== undefined) return path
    }
    return undefined
  }
  for (const node of nodes) {
    const chain = find(node, [])
    if (chain !== undefined) return { chain, caused }
  }
  return { chain: [], caused }
}

function conversationOf(payload: unknown): string | undefined {
  const id = isRecord(payload) ? payload['conversation'] : undefined
  return typeof id === 'string' ? id : undefined
}

function argumentsOf(payload: unknown): Record<string, unknown> | undefined {
  if (!isRecord(payload)) return undefined
  const callArguments = payload['sent'] ?? payload['arguments']
  if (isRecord(callArguments)) return callArguments
  const params = payload['params']
  return isRecord(params) && isRecord(params['arguments']) ? params['arguments'] : undefined
}

/** The rule or answer that decided about a call. */
function Decided({ payload }: { payload: unknown }): ReactNode {
  const t = useText()
  const decision = isRecord(payload) && isRecord(payload['decision']) ? payload['decision'] : undefined
  const verdict = (['allow', 'ask', 'deny'] as const).find((name) => name === decision?.['verdict'])
  if (decision === undefined || verdict === undefined) return null
  const rule = String(decision['rule'])
  const kind = ruleKind(rule)
  return (
    <>
      <dt>{t('inspect.why')}</dt>
      <dd>
        {t(`verdict.${verdict}`)} · {t('why.rule', { kind, rule })}
        {kind === 'rule' && typeof decision['author'] === 'string' && (
          <>
            {' · '}
            <Author text={untrusted(decision['author'])} />
          </>
        )}
      </dd>
    </>
  )
}

/** Repeats a request, unchanged or edited, and shows the differences of the results. */
function Repeat({
  id,
  entry,
  server,
}: {
  id: number
  entry: CatalogTool | undefined
  server: string
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [isEdit, setEdit] = useState(false)
  const [text, setText] = useState<string>()
  const [request, setRequest] = useState<ReplayRequest>()
  const [replay, setReplay] = useState<Replay>()
  const load = useAction(async () => {
    const recorded = await client.call('trace.request', { id })
    setRequest(recorded)
    setText(JSON.stringify(recorded.arguments, null, 2))
  })
  const action = useAction(async (args?: Record<string, unknown>) => {
    setReplay(undefined)
    const recorded = request ?? (await client.call('trace.request', { id }))
    const run = await client.call('runs.perform', {
      request: { kind: 'replay', request: args === undefined ? recorded : { ...recorded, arguments: args } },
    })
    if (run.fault !== undefined) throw new HostError(run.fault)
    if (run.result?.replay !== undefined) setReplay(run.result.replay)
  })
  const read = text === undefined ? undefined : readArguments(text)
  const [unreadable, report] = useUnreadable()
  const error = action.error ?? load.error
  return (
    <section className={style.repeat} aria-label={t('activity.again')}>
      <div className={style.acts}>
        <Button small isOff={action.isRunning} onClick={() => void action.run()} data-act="again">
          <RotateCcw {...smallIcon} /> {t('activity.again')}
        </Button>
        <Button
          small
          aria-expanded={isEdit}
          onClick={() => {
            setEdit(!isEdit)
            if (request === undefined) void load.run()
          }}
          data-act="edit-again"
        >
          <Pencil {...smallIcon} /> {t('activity.editAgain')}
        </Button>
      </div>
      {isEdit && text !== undefined && (
        <>
          {entry === undefined ? (
            <JsonField text={text} label={t('call.arguments')} onChange={setText} />
          ) : (
            <Arguments
              schema={isRecord(entry.tool.inputSchema) ? entry.tool.inputSchema : {}}
              text={text}
              onChange={setText}
              report={report}
            />
          )}
          <Unreadable fields={unreadable} />
          <div className={style.acts}>
            <Button
              small
              look="primary"
              isOff={action.isRunning || read === undefined || 'problem' in read || unreadable.length > 0}
              onClick={() => {
                if (read !== undefined && 'value' in read) void action.run(read.value)
              }}
              data-act="run-edited"
            >
              {t('inspect.run')}
            </Button>
          </div>
        </>
      )}
      {error !== undefined && <ErrorNote error={error} />}
      {replay !== undefined && <ReplayResult replay={replay} server={server} />}
    </section>
  )
}

interface Replay {
  readonly result: unknown
  readonly denied: boolean
  /** Absent if the recorded result is unknown. */
  readonly changes?: readonly { path: string; before?: unknown; after?: unknown }[]
}

/** The differences of the new result from the recorded one, and the result. */
function ReplayResult({
  replay: { result, denied, changes },
  server,
}: {
  replay: Replay
  server: string
}): ReactNode {
  const t = useText()
  return (
    <div className={style.replay} role="status" data-replay>
      {denied ? (
        <Note tone="warn">{t('activity.againDenied')}</Note>
      ) : changes === undefined ? (
        <Note tone="info">{t('activity.againUnknown')}</Note>
      ) : changes.length === 0 ? (
        <Note tone="ok">{t('activity.againSame')}</Note>
      ) : (
        <>
          <h3>{t('activity.againChanged', { count: changes.length })}</h3>
          <ChangeTable changes={changes.map(({ path, ...values }) => ({ pointer: path, ...values }))} />
        </>
      )}
      <details open={denied}>
        <summary>{t('inspect.result')}</summary>
        <Contents blocks={blocksOf(result)} server={server} label={t('inspect.result')} />
      </details>
    </div>
  )
}

function blocksOf(result: unknown): unknown {
  if (!isRecord(result)) return result
  return result['content'] ?? result['contents'] ?? result
}
