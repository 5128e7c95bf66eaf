import type { TraceEvent } from '@jackfield/host/browser'
import {
  AppWindow,
  ArrowDownLeft,
  ArrowUpRight,
  Bot,
  Code,
  Download,
  FileText,
  Folder,
  Globe,
  KeyRound,
  MessageSquare,
  PlugZap,
  RefreshCw,
  ScrollText,
  ShieldQuestion,
  Terminal,
  TextCursorInput,
  TriangleAlert,
  Wrench,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { useFormat, useOutcome, useText } from '../i18n/i18n.ts'
import { Summary } from '../text/summary.tsx'
import style from './activity.module.css'
import { waitsForPerson } from './open-questions.ts'

const icons = {
  app: AppWindow,
  call: Wrench,
  read: FileText,
  prompt: ScrollText,
  approval: ShieldQuestion,
  elicitation: TextCursorInput,
  sampling: Bot,
  roots: Folder,
  model: Bot,
  connection: PlugZap,
  change: RefreshCw,
  result: ShieldQuestion,
  install: Download,
  start: PlugZap,
  input: TextCursorInput,
  drift: TriangleAlert,
  login: KeyRound,
  code: Code,
  conversation: MessageSquare,
  http: Globe,
  stderr: Terminal,
  warning: TriangleAlert,
  wire: ArrowUpRight,
} as const satisfies Record<TraceEvent['kind'], unknown>

/** Attributes of a cell. The grid handles focus and keys. */
export const cell = { role: 'gridcell' } as const

export function KindIcon({ event: { kind, direction } }: { event: TraceEvent }): ReactNode {
  const Icon = kind === 'wire' && direction === 'received' ? ArrowDownLeft : icons[kind]
  return <Icon size={15} strokeWidth={1.5} aria-hidden="true" />
}

/** The colour of an event by its outcome. */
export function toneOf(event: TraceEvent): string | undefined {
  const { status, kind } = event
  if (waitsForPerson(event)) return 'warn'
  if (status === 'error' || status === 'failed') return 'danger'
  if (status === 'denied' || status === 'declined' || kind === 'warning') return 'warn'
  if (status === 'running') return 'info'
  return undefined
}

/** One event in a line: time, kind, server, summary, outcome and duration. */
export function EventCells({ event, depth = 0 }: { event: TraceEvent; depth?: number }): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  const outcome = useOutcome()
  const { kind, direction, server, durationMs, at } = event
  const status = waitsForPerson(event) ? 'waits' : event.status
  return (
    <>
      <span {...cell} className={style.time}>
        {timeOf(at)}
      </span>
      <span {...cell} className={style.kind} data-kind={kind} data-direction={direction ?? ''}>
        <KindIcon event={event} />
        <span>{t(`activity.kind.${kind}`)}</span>
      </span>
      <span
        {...cell}
        className={style.summary}
        ref={(element) => element?.style.setProperty('--depth', String(depth))}
      >
        <Summary event={event} maxCharacters={200} />
      </span>
      <span {...cell} className={style.server}>
        {server !== null && <bdi>{server}</bdi>}
      </span>
      <span {...cell} className={style.status} data-tone={toneOf(event)}>
        {status !== null && outcome(status)}
      </span>
      <span {...cell} className={style.number}>
        {durationMs !== null && duration(durationMs)}
      </span>
    </>
  )
}

/** The local time of day to the millisecond. */
export function timeOf(iso: string): string {
  const date = new Date(iso)
  const twoDigits = (value: number): string => String(value).padStart(2, '0')
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}:${twoDigits(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`
}
