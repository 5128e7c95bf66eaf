import { useVirtualizer, type Virtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
} from 'react'
import { useText } from '../i18n/i18n.ts'
import { useAddress } from '../routes.ts'
import style from './activity.module.css'
import { cell } from './event-row.tsx'

/** The grid handles focus and keys, so its rows need neither. */
const gridRow = { role: 'row' } as const

/**
 * Rows of one height, of which only those in view are in the document. One tab stop; the arrows, Home, End and Page keys
 * move, and Enter opens.
 */
export function EventGrid({
  label,
  count,
  rowHeight,
  keyAt,
  selected,
  isFollowing,
  onWindow,
  onSelect,
  onFollow,
  onKey,
  children,
}: {
  label: string
  count: number
  rowHeight: number
  /** The id of the row at an index. */
  keyAt: (index: number) => number | undefined
  /** The index of the selected row; -1 for none. */
  selected: number
  isFollowing: boolean
  onWindow?: (from: number, to: number) => void
  onSelect: (index: number) => void
  /** Called when the user scrolls to the end or away from it. */
  onFollow: (isAtEnd: boolean) => void
  onKey?: (key: string, index: number) => boolean
  children: (index: number) => ReactNode
}): ReactNode {
  const t = useText()
  const isFiltered = (useAddress().query.get('filter') ?? '') !== ''
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const virtualizer = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
    getItemKey: (index) => keyAt(index) ?? index,
  })
  const items = virtualizer.getVirtualItems()
  const [first, last] = [items[0]?.index ?? 0, (items.at(-1)?.index ?? -1) + 1]
  useEffect(() => onWindow?.(first, last), [onWindow, first, last])
  useScrolling(scroller, virtualizer, count, selected, isFollowing)
  const move = (index: number): void => {
    const next = Math.max(0, Math.min(count - 1, index))
    onSelect(next)
    virtualizer.scrollToIndex(next, { align: 'auto' })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / rowHeight) - 1)
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: selected + 1,
      ArrowUp: selected === -1 ? count - 1 : selected - 1,
      PageDown: selected + page,
      PageUp: selected - page,
      Home: 0,
      End: count - 1,
    }
    const next = steps[event.key]
    if (next !== undefined) {
      event.preventDefault()
      move(next)
    } else if (onKey?.(event.key, selected) === true) event.preventDefault()
  }
  const isSelectedShown = selected >= first && selected < last
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table cannot leave out the rows that are not in view
    <div
      ref={scroller}
      className={style.grid}
      role="grid"
      aria-label={label}
      aria-rowcount={count}
      aria-activedescendant={isSelectedShown ? `${id}-${selected}` : undefined}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) =>
        onFollow(scrollHeight - scrollTop - clientHeight < rowHeight)
      }
      onKeyDown={onKeyDown}
    >
      {count === 0 && (
        <div {...gridRow}>
          <span {...cell} className={style.empty}>
            {t(isFiltered ? 'activity.empty' : 'activity.emptyYet')}
          </span>
        </div>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: see above */}
      <div
        role="rowgroup"
        className={style.rows}
        ref={(element) => element?.style.setProperty('height', `${virtualizer.getTotalSize()}px`)}
      >
        {items.map(({ key, index, start }) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the grid keeps the focus
          // biome-ignore lint/a11y/useSemanticElements: see above
          <div
            key={key}
            id={`${id}-${index}`}
            role="row"
            aria-rowindex={index + 1}
            aria-selected={index === selected}
            className={style.row}
            data-place={index}
            onClick={() => onSelect(index)}
            ref={(element) => {
              element?.style.setProperty('transform', `translateY(${start}px)`)
              element?.style.setProperty('height', `${rowHeight}px`)
            }}
          >
            {children(index)}
          </div>
        ))}
      </div>
    </div>
  )
}

/** Scrolls to the selected row once, else to the end as long as it is followed. */
function useScrolling(
  scroller: RefObject<HTMLElement | null>,
  virtualizer: Virtualizer<HTMLDivElement, Element>,
  count: number,
  selected: number,
  isFollowing: boolean,
): void {
  // The rows are loaded after the first render.
  const isInitiallyScrolled = useRef(false)
  useLayoutEffect(() => {
    if (count === 0 || isInitiallyScrolled.current) return
    if (selected >= 0) virtualizer.scrollToIndex(selected, { align: 'center' })
    else if (isFollowing) virtualizer.scrollToIndex(count - 1, { align: 'end' })
    isInitiallyScrolled.current = true
  }, [count, selected, isFollowing, virtualizer])
  useLayoutEffect(() => {
    if (isFollowing && isInitiallyScrolled.current && count > 0)
      virtualizer.scrollToIndex(count - 1, { align: 'end' })
  }, [count, isFollowing, virtualizer])
  // The timeline above may take a part of the height once it is loaded.
  useEffect(() => {
    const box = scroller.current
    if (box === null || !isFollowing) return
    const observer = new ResizeObserver(() => {
      box.scrollTop = box.scrollHeight
    })
    observer.observe(box)
    return () => observer.disconnect()
  }, [scroller, isFollowing])
}
