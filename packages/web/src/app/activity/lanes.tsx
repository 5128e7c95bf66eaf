import type { TraceBins, TraceLane } from '@jackfield/host/browser'
import { ChevronLeft, ChevronRight, Maximize2, ZoomIn, ZoomOut } from 'lucide-react'
import {
  type PointerEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { plain } from '../text/untrusted-text.ts'
import { Button, smallIcon } from '../ui/ui.tsx'
import style from './activity.module.css'
import { timeOf } from './event-row.tsx'

const binCount = 240
/** Up to this number of events in the window, each is drawn individually. */
const maxSpans = 1_500
const laneHeight = 34
const axisHeight = 22
const maxLanes = 24
const liveMs = 2_000
const minPeriodMs = 2

/** A period in milliseconds since 1970. */
export interface Period {
  readonly from: number
  readonly to: number
}

/** A filter for the events of a period. */
export function filterWithin(filter: string, period: Period | undefined): string {
  if (period === undefined) return filter
  const iso = (ms: number): string => new Date(ms).toISOString()
  return `${filter} since:${iso(Math.floor(period.from))} until:${iso(Math.ceil(period.to) + 1)}`.trim()
}

/** A timeline with a lane for each server: counts for long periods, individual events for short ones. */
export function Lanes({
  filter,
  period,
  event,
  isFollowing,
  onPeriod,
  onSelect,
}: {
  filter: string
  period: Period | undefined
  event: number | undefined
  isFollowing: boolean
  onPeriod: (period: Period | undefined) => void
  onSelect: (event: number) => void
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const shown = plain<TraceBins | undefined>(
    useRead(
      'trace.bins',
      {
        filter,
        bins: binCount,
        ...(period !== undefined && { fromMs: Math.floor(period.from), toMs: Math.ceil(period.to) }),
      },
      { everyMs: isFollowing && period === undefined ? liveMs : undefined, keepsLast: true },
    ).data,
  )
  const total = useMemo(
    () =>
      shown?.lanes.reduce(
        (sum, lane) => sum + lane.events.reduce((laneSum, count) => laneSum + count, 0),
        0,
      ) ?? 0,
    [shown],
  )
  const window: Period | undefined =
    period ?? (shown && { from: shown.fromMs, to: Math.max(shown.toMs, shown.fromMs + minPeriodMs) })
  const spans = plain<readonly TraceLane[] | undefined>(
    useRead(
      'trace.timeline',
      { filter: filterWithin(filter, window), limit: maxSpans },
      { enabled: window !== undefined && total > 0 && total <= maxSpans },
    ).data,
  )
  const zoom = (factor: number, position = 0.5): void => {
    if (window === undefined) return
    const length = Math.max(minPeriodMs, (window.to - window.from) * factor)
    const from = window.from + (window.to - window.from - length) * position
    onPeriod({ from, to: from + length })
  }
  const pan = (share: number): void => {
    if (window === undefined) return
    const step = (window.to - window.from) * share
    onPeriod({ from: window.from + step, to: window.to + step })
  }
  const lanes = shown?.lanes.slice(0, maxLanes) ?? []
  return (
    <section className={style.lanes} aria-label={t('activity.view.time')}>
      <div className={style.lanesBar}>
        <Button small look="quiet" aria-label={t('time.earlier')} onClick={() => pan(-0.5)}>
          <ChevronLeft {...smallIcon} />
        </Button>
        <Button small look="quiet" aria-label={t('time.later')} onClick={() => pan(0.5)}>
          <ChevronRight {...smallIcon} />
        </Button>
        <Button small look="quiet" aria-label={t('time.in')} onClick={() => zoom(0.5)}>
          <ZoomIn {...smallIcon} />
        </Button>
        <Button small look="quiet" aria-label={t('time.out')} onClick={() => zoom(2)}>
          <ZoomOut {...smallIcon} />
        </Button>
        <Button small look="quiet" isOff={period === undefined} onClick={() => onPeriod(undefined)}>
          <Maximize2 {...smallIcon} /> {t('time.whole')}
        </Button>
        <span className={style.count} role="status">
          {window !== undefined &&
            `${timeOf(new Date(window.from).toISOString())} – ${timeOf(new Date(window.to).toISOString())}`}{' '}
          · {t('time.events', { count: number(total) })}
        </span>
      </div>
      {window !== undefined && (
        <div className={style.lanesBody}>
          <ul
            className={style.laneNames}
            ref={(element) => element?.style.setProperty('padding-top', `${axisHeight}px`)}
          >
            {lanes.map(({ server }) => (
              <li key={server ?? ''}>{server === null ? t('time.host') : <bdi>{server}</bdi>}</li>
            ))}
          </ul>
          <LanesCanvas
            window={window}
            lanes={lanes}
            spans={spans}
            event={event}
            label={t('time.label', { count: number(total), lanes: number(lanes.length) })}
            onPeriod={onPeriod}
            onZoom={zoom}
            onSelect={onSelect}
          />
        </div>
      )}
    </section>
  )
}

/** Where an event is drawn, in pixels from the left. */
interface HitArea {
  readonly from: number
  readonly to: number
  readonly lane: number
  readonly event: number
}

function LanesCanvas({
  window,
  lanes,
  spans,
  event,
  label,
  onPeriod,
  onZoom,
  onSelect,
}: {
  window: Period
  lanes: TraceBins['lanes']
  spans: readonly TraceLane[] | undefined
  event: number | undefined
  label: string
  onPeriod: (period: Period) => void
  onZoom: (factor: number, position: number) => void
  onSelect: (event: number) => void
}): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [width, setWidth] = useState(600)
  const [drag, setDrag] = useState<readonly [number, number]>()
  const hits = useRef<HitArea[]>([])
  const height = axisHeight + Math.max(1, lanes.length) * laneHeight
  useLayoutEffect(() => {
    const element = canvas.current?.parentElement
    if (element == null) return
    const observer = new ResizeObserver(([entry]) =>
      setWidth(Math.max(120, Math.floor(entry?.contentRect.width ?? 600))),
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element == null || context == null) return
    const scale = devicePixelRatio
    element.width = width * scale
    element.height = height * scale
    element.style.width = `${width}px`
    element.style.height = `${height}px`
    context.setTransform(scale, 0, 0, scale, 0, 0)
    hits.current = drawLanes(
      context,
      { window, lanes, spans, event, width, height, drag },
      coloursOf(element),
    )
  }, [window, lanes, spans, event, width, height, drag])
  const xOfPointer = (pointer: PointerEvent<HTMLCanvasElement>): number =>
    pointer.clientX - pointer.currentTarget.getBoundingClientRect().left
  const msAt = (x: number): number => window.from + (x / width) * (window.to - window.from)
  return (
    <div className={style.drawing}>
      <canvas
        ref={canvas}
        role="img"
        aria-label={label}
        onPointerDown={(pointer) => {
          pointer.currentTarget.setPointerCapture(pointer.pointerId)
          setDrag([xOfPointer(pointer), xOfPointer(pointer)])
        }}
        onPointerMove={(pointer) => {
          if (drag !== undefined) setDrag([drag[0], xOfPointer(pointer)])
        }}
        onPointerCancel={() => setDrag(undefined)}
        onPointerUp={(pointer) => {
          if (drag === undefined) return
          setDrag(undefined)
          const end = xOfPointer(pointer)
          if (Math.abs(end - drag[0]) > 4) {
            const [from, to] = [msAt(Math.min(drag[0], end)), msAt(Math.max(drag[0], end))]
            onPeriod({ from, to: Math.max(to, from + minPeriodMs) })
            return
          }
          const y = pointer.clientY - pointer.currentTarget.getBoundingClientRect().top
          const lane = Math.floor((y - axisHeight) / laneHeight)
          const hit = hits.current.findLast(
            (area) => area.lane === lane && area.from <= end && end <= area.to,
          )
          if (hit !== undefined) onSelect(hit.event)
        }}
        onWheel={(wheel) => {
          if (!wheel.ctrlKey && !wheel.metaKey) return
          const box = wheel.currentTarget.getBoundingClientRect()
          onZoom(wheel.deltaY > 0 ? 1.25 : 0.8, (wheel.clientX - box.left) / width)
        }}
      />
    </div>
  )
}

type Colours = Readonly<Record<'line' | 'muted' | 'info' | 'danger' | 'accent', string>>

/** The colours of the page. Resolves `light-dark()`, which a canvas does not know. */
function coloursOf(element: HTMLElement): Colours {
  const computed = getComputedStyle(element)
  const colour = (name: keyof Colours): string => {
    element.style.color = `var(--${name})`
    return computed.color
  }
  return {
    line: colour('line'),
    muted: colour('muted'),
    info: colour('info'),
    danger: colour('danger'),
    accent: colour('accent'),
  }
}

interface Drawing {
  readonly window: Period
  readonly lanes: TraceBins['lanes']
  /** The events of each lane, if there are few enough to draw each. */
  readonly spans: readonly TraceLane[] | undefined
  /** The selected event. */
  readonly event: number | undefined
  readonly width: number
  readonly height: number
  /** The pixels between which the pointer selects a period. */
  readonly drag: readonly [number, number] | undefined
}

/** Draws axis, lanes and selection. Returns where the events are. */
function drawLanes(
  context: CanvasRenderingContext2D,
  { window, lanes, spans, event, width, height, drag }: Drawing,
  colours: Colours,
): HitArea[] {
  const hits: HitArea[] = []
  context.clearRect(0, 0, width, height)
  drawAxis(context, window, width, height, colours)
  const xOf = (ms: number): number => ((ms - window.from) / (window.to - window.from)) * width
  for (const [index, lane] of lanes.entries()) {
    const top = axisHeight + index * laneHeight
    context.fillStyle = colours.line
    context.fillRect(0, top + laneHeight - 1, width, 1)
    const laneSpans = spans?.find(({ server }) => server === lane.server)
    if (laneSpans === undefined) drawBins(context, lane, top, width, colours)
    else
      for (const { event: spanEvent, fromMs, toMs } of laneSpans.spans) {
        const [left, right] = [xOf(fromMs), Math.max(xOf(toMs), xOf(fromMs) + 2)]
        const isWire = spanEvent.kind === 'wire' || spanEvent.kind === 'http'
        const isSelected = spanEvent.id === event
        context.fillStyle = isSelected
          ? colours.accent
          : spanEvent.status === 'error'
            ? colours.danger
            : colours.info
        context.globalAlpha = isSelected ? 1 : isWire ? 0.45 : 0.85
        context.fillRect(left, top + (isWire ? 18 : 6), right - left, isWire ? 8 : 10)
        context.globalAlpha = 1
        hits.push({ from: left - 2, to: right + 2, lane: index, event: spanEvent.id })
      }
  }
  if (drag !== undefined) {
    context.globalAlpha = 0.35
    context.fillStyle = colours.accent
    context.fillRect(Math.min(...drag), axisHeight, Math.abs(drag[1] - drag[0]), height - axisHeight)
    context.globalAlpha = 1
  }
  return hits
}

function drawBins(
  context: CanvasRenderingContext2D,
  { events, errors }: TraceBins['lanes'][number],
  top: number,
  width: number,
  colours: Colours,
): void {
  const maxCount = Math.max(1, ...events)
  const binWidth = width / events.length
  for (const [index, count] of events.entries()) {
    if (count === 0) continue
    const maxHeight = laneHeight - 8
    // The square root keeps rare events visible beside frequent ones.
    const height = Math.max(2, Math.sqrt(count / maxCount) * maxHeight)
    const errorHeight = Math.min(height, ((errors[index] ?? 0) / count) * height)
    const bottom = top + laneHeight - 3
    context.fillStyle = colours.info
    context.fillRect(index * binWidth, bottom - height, Math.max(1, binWidth - 0.5), height)
    if (errorHeight > 0) {
      context.fillStyle = colours.danger
      context.fillRect(
        index * binWidth,
        bottom - Math.max(2, errorHeight),
        Math.max(1, binWidth - 0.5),
        Math.max(2, errorHeight),
      )
    }
  }
}

const tickSteps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000,
  1_800_000, 3_600_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000, 604_800_000,
]

function drawAxis(
  context: CanvasRenderingContext2D,
  { from, to }: Period,
  width: number,
  height: number,
  colours: Colours,
): void {
  const minStep = ((to - from) / width) * 110
  const step = tickSteps.find((candidate) => candidate >= minStep) ?? 2_592_000_000
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`
  context.textBaseline = 'middle'
  for (let ms = Math.ceil(from / step) * step; ms <= to; ms += step) {
    const x = ((ms - from) / (to - from)) * width
    context.fillStyle = colours.line
    context.fillRect(Math.round(x), axisHeight - 6, 1, height - axisHeight + 6)
    context.fillStyle = colours.muted
    const text = tickLabel(ms, step)
    const half = context.measureText(text).width / 2
    context.fillText(text, Math.max(0, Math.min(width - 2 * half, x - half)), 8)
  }
}

function tickLabel(ms: number, step: number): string {
  const date = new Date(ms)
  if (step >= 86_400_000)
    return date.toLocaleDateString(document.documentElement.lang, { month: 'short', day: 'numeric' })
  const text = timeOf(date.toISOString())
  return step < 1_000 ? text.slice(3) : step < 60_000 ? text.slice(0, 8) : text.slice(0, 5)
}
