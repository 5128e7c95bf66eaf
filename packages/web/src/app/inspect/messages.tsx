import type { TraceEvent, TraceNode } from '@jackfield/host/browser'
import { ArrowDownLeft, ArrowUpRight, Globe, Terminal, TriangleAlert } from 'lucide-react'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { isRecord } from '../text/pieces.ts'
import { ExactJson, JsonTree, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { Note, uiStyle, Views } from '../ui/ui.tsx'
import style from './inspect.module.css'

/** Milliseconds between two reads of the messages of a running activity. */
const liveMs = 500

/** The events that an activity caused: messages, HTTP exchanges, output; in order. */
export function useTraffic(activity: number | undefined, isRunning: boolean): readonly TraceEvent[] {
  const { data, refetch } = useRead(
    'trace.tree',
    { filter: `row:${activity ?? 1}`, limit: 1 },
    { enabled: activity !== undefined, everyMs: isRunning ? liveMs : undefined },
  )
  const wasRunning = useRef(isRunning)
  useEffect(() => {
    // Reads once more after the end, for the last messages.
    if (wasRunning.current && !isRunning) refetch()
    wasRunning.current = isRunning
  }, [isRunning, refetch])
  return useMemo(() => {
    const events: TraceEvent[] = []
    const visit = ({ event, children }: TraceNode, isBelow: boolean): void => {
      const isCurrent = event.activity === activity
      if (isBelow) events.push(event)
      for (const child of children) visit(child, isBelow || isCurrent)
    }
    for (const node of plain<readonly TraceNode[] | undefined>(data) ?? []) visit(node, false)
    return events.sort((a, b) => a.id - b.id)
  }, [data, activity])
}

const icons = { wire: ArrowUpRight, http: Globe, stderr: Terminal, warning: TriangleAlert }

/** The messages of one activity as rows that expand. `from`: the time of the first, in milliseconds since 1970. */
export function Messages({ events }: { events: readonly TraceEvent[] }): ReactNode {
  const t = useText()
  if (events.length === 0) return <p className={style.quiet}>{t('messages.none')}</p>
  const [first] = events
  return (
    <ol className={style.messages}>
      {events.map((event) => (
        <MessageRow key={event.id} event={event} since={first} />
      ))}
    </ol>
  )
}

function MessageRow({ event, since }: { event: TraceEvent; since: TraceEvent | undefined }): ReactNode {
  const t = useText()
  const { duration, number } = useFormat()
  const [isOpen, setOpen] = useState(false)
  const { kind, direction } = event
  const Icon =
    kind === 'wire'
      ? direction === 'received'
        ? ArrowDownLeft
        : ArrowUpRight
      : kind === 'http' || kind === 'stderr' || kind === 'warning'
        ? icons[kind]
        : ArrowUpRight
  const offset = offsetOf(event, since)
  return (
    <li>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary className={style.message}>
          <Icon
            size={16}
            strokeWidth={1.5}
            className={
              event.status === 'error' ? uiStyle.danger : direction === 'received' ? uiStyle.ok : uiStyle.info
            }
            aria-label={t(`messages.${kind === 'wire' ? (direction ?? 'sent') : kind}`)}
          />
          <span className={style.messageName}>
            <SafeText text={untrusted(event.summary)} inline maxCharacters={160} />
          </span>
          <span className={style.quiet}>{t('content.bytes', { count: number(event.bytes) })}</span>
          <span className={style.quiet}>+{duration(offset)}</span>
        </summary>
        {isOpen && <Payload id={event.id} label={event.summary} />}
      </details>
    </li>
  )
}

function offsetOf(event: TraceEvent, since: TraceEvent | undefined): number {
  if (since === undefined) return 0
  if (event.tickMs !== null && since.tickMs !== null) return Math.max(0, event.tickMs - since.tickMs)
  return Math.max(0, Date.parse(event.at) - Date.parse(since.at))
}

/** The recorded payload of one event. */
export function Payload({ id, label }: { id: number; label: string }): ReactNode {
  const t = useText()
  const [view, setView] = useState<'tree' | 'exact'>('tree')
  const { data, isPending } = useRead('trace.get', { id })
  if (data == null) return isPending ? null : <p className={style.quiet}>{t('activity.unknown')}</p>
  const payload = plain<unknown>(data.payload)
  return (
    <div className={style.payload}>
      {data.cut !== undefined && <Note tone="warn">{t('messages.cut')}</Note>}
      {typeof payload === 'string' ? (
        <SafeTextBox text={untrusted(payload)} label={label} />
      ) : (
        <>
          <Views
            label={t('content.view')}
            views={[
              ['tree', t('content.as.tree')],
              ['exact', 'JSON'],
            ]}
            value={view}
            onChange={setView}
          />
          {view === 'tree' ? (
            <JsonTree value={payload} label={label} />
          ) : (
            <ExactJson value={payload} label={label} />
          )}
        </>
      )}
    </div>
  )
}

/** HTTP exchanges with their headers. */
export function Exchanges({ events }: { events: readonly TraceEvent[] }): ReactNode {
  const t = useText()
  const exchanges = events.filter(({ kind }) => kind === 'http')
  if (exchanges.length === 0) return <p className={style.quiet}>{t('messages.noHttp')}</p>
  return exchanges.map((event) => <Exchange key={event.id} event={event} />)
}

export function Exchange({ event }: { event: TraceEvent }): ReactNode {
  const t = useText()
  const { duration, number } = useFormat()
  const payload = plain<unknown>(useRead('trace.get', { id: event.id }).data?.payload)
  if (!isRecord(payload)) return null
  const request = isRecord(payload['request']) ? payload['request'] : {}
  const response = isRecord(payload['response']) ? payload['response'] : undefined
  return (
    <div className={style.block}>
      <header className={style.blockHead}>
        <SafeText text={untrusted(`${request['method']} ${request['url']}`)} inline maxCharacters={300} />
        <span className={event.status === 'ok' ? uiStyle.ok : uiStyle.danger}>
          {response === undefined ? (
            <SafeText text={untrusted(String(payload['error'] ?? event.status))} inline maxCharacters={120} />
          ) : (
            <SafeText
              text={untrusted(`${response['status']} ${response['statusText'] ?? ''}`)}
              inline
              maxCharacters={60}
            />
          )}
        </span>
        {event.durationMs !== null && <span>{duration(event.durationMs)}</span>}
        <span>{t('content.bytes', { count: number(Number(request['bytes'] ?? 0)) })}</span>
      </header>
      <Headers title={t('messages.requestHeaders')} headers={request['headers']} />
      {response !== undefined && (
        <Headers title={t('messages.responseHeaders')} headers={response['headers']} />
      )}
    </div>
  )
}

function Headers({ title, headers }: { title: string; headers: unknown }): ReactNode {
  const rows = isRecord(headers) ? Object.entries(headers) : []
  if (rows.length === 0) return null
  return (
    <table className={style.headers}>
      <caption>{title}</caption>
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">
              <SafeText text={untrusted(name)} inline />
            </th>
            <td>
              <SafeText text={untrusted(String(value))} maxCharacters={1_000} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
