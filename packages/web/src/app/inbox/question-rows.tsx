import type { SamplingMessage } from '@jackfield/sdk'
import { useVirtualizer } from '@tanstack/react-virtual'
import { Check, ChevronDown, ChevronRight, CircleDot, Clock } from 'lucide-react'
import { memo, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useNow } from '../data/host.tsx'
import { rich, useFormat, useText } from '../i18n/i18n.ts'
import type { Row } from '../questions/answer.ts'
import { routes } from '../routes.ts'
import { briefly } from '../text/pieces.ts'
import { ClientName, SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import style from './inbox.module.css'

interface Group {
  readonly name: 'open' | 'later' | 'settled'
  readonly rows: readonly Row[]
  /** Whether its rows are hidden at first. */
  readonly isClosed?: boolean
}

const rowHeight = 56
const headHeight = 36

/** Questions in groups. Only the rows in view are on the page, since hundreds may wait. */
export function QuestionRows({
  label,
  groups,
  here,
}: {
  label: string
  groups: readonly Group[]
  here: string | undefined
}): ReactNode {
  const t = useText()
  const scroller = useRef<HTMLDivElement>(null)
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const lines = groups.flatMap((group): ({ group: Group; isOpen: boolean } | { row: Row })[] => {
    if (group.rows.length === 0) return []
    const isOpen = toggled.has(group.name) === (group.isClosed === true)
    const rows = group.rows.map((row) => ({ row }))
    if (group.name === 'open') return rows
    return [{ group, isOpen }, ...(isOpen ? rows : [])]
  })
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (n) => (lines[n] !== undefined && 'group' in lines[n] ? headHeight : rowHeight),
    getItemKey: (n) => {
      const line = lines[n]
      return line === undefined ? n : 'row' in line ? line.row.id : line.group.name
    },
    overscan: 8,
  })
  const index = lines.findIndex((line) => 'row' in line && line.row.id === here)
  const isSettledHere = index === -1
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another question moves the list
  useEffect(() => {
    if (index >= 0) virtual.scrollToIndex(index, { align: 'auto' })
  }, [here, isSettledHere])
  return (
    <div className={style.rows} ref={scroller}>
      <ul
        aria-label={label}
        className={style.window}
        ref={(element) => element?.style.setProperty('height', `${virtual.getTotalSize()}px`)}
      >
        {virtual.getVirtualItems().map(({ key, index, start }) => {
          const line = lines[index]
          if (line === undefined) return null
          return (
            <li
              key={key}
              aria-setsize={lines.length}
              aria-posinset={index + 1}
              ref={(element) => element?.style.setProperty('transform', `translateY(${start}px)`)}
            >
              {'row' in line ? (
                <QuestionRow row={line.row} isHere={line.row.id === here} />
              ) : (
                <button
                  type="button"
                  className={style.group}
                  aria-expanded={line.isOpen}
                  onClick={() => {
                    const next = new Set(toggled)
                    if (!next.delete(line.group.name)) next.add(line.group.name)
                    setToggled(next)
                  }}
                >
                  {line.isOpen ? (
                    <ChevronDown size={14} aria-hidden="true" />
                  ) : (
                    <ChevronRight size={14} aria-hidden="true" />
                  )}
                  {t(`inbox.group.${line.group.name}`, { count: line.group.rows.length })}
                </button>
              )}
            </li>
          )
        })}
      </ul>
    </div>
  )
}

/** Memoized, since every key press renders the list. */
const QuestionRow = memo(function QuestionRow({ row, isHere }: { row: Row; isHere: boolean }): ReactNode {
  const t = useText()
  const { time } = useFormat()
  const { server, tool } = row.question.cause
  const about = useMemo(() => subjectOf(row.question), [row.question])
  return (
    <Link href={routes.question.to(row.id)} className={style.row ?? ''} aria-current={isHere || undefined}>
      <ServerBadge name={server} />
      <span className={style.what}>
        {rich(t, `row.${row.question.kind}`, {
          server: <bdi>{server}</bdi>,
          tool: tool === undefined ? '' : <SafeText text={tool} maxCharacters={80} inline />,
        })}
      </span>
      <span className={style.age}>
        {row.state === 'open' ? (
          row.deferred === true ? (
            <Clock size={14} aria-label={t('call.later')} />
          ) : (
            <Age at={row.at} />
          )
        ) : row.state === 'answered' ? (
          <Check size={16} aria-label={t('inbox.state.answered')} />
        ) : (
          <CircleDot size={16} aria-label={t(`inbox.state.${row.state}`)} />
        )}
      </span>
      <span className={`${style.what} ${style.sub}`}>
        {server}
        {row.answer === undefined && about !== '' && (
          <>
            {' · '}
            <SafeText text={untrusted(about)} maxCharacters={80} inline />
          </>
        )}
        {row.answer !== undefined && (
          <>
            {' · '}
            <ClientName name={row.answer.by} /> · {time(row.answer.at)}
          </>
        )}
        {row.state !== 'open' && row.answer === undefined && ` · ${t(`inbox.state.${row.state}`)}`}
      </span>
    </Link>
  )
})

/** A question in one line: its message, arguments, folders, definitions or command. */
function subjectOf(question: Row['question']): string {
  switch (question.kind) {
    case 'approval':
      return briefly(plain<Record<string, unknown>>(question.arguments))
    case 'elicitation':
      return plainText(question.params.message)
    case 'sampling-request':
      return plain<{ messages: readonly SamplingMessage[] }>(question.params)
        .messages.flatMap(({ content }) => (Array.isArray(content) ? content : [content]))
        .flatMap((block) => (block.type === 'text' ? [block.text] : []))
        .join(' ')
    case 'roots':
      return question.roots.map(({ uri, name }) => plainText(name ?? uri)).join(', ')
    case 'drift':
      return question.changes.map(({ name }) => plainText(name)).join(', ')
    default:
      return ''
  }
}

function Age({ at }: { at: string }): ReactNode {
  const { age } = useFormat()
  return age(useNow(5_000) - Date.parse(at))
}
