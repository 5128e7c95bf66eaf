import { type ReactNode, useId, useRef } from 'react'
import style from './menu.module.css'
import { uiStyle } from './ui.tsx'

/** One line of a menu. */
export interface MenuItem {
  readonly key: string
  readonly text: ReactNode
  /** Shown beside the text, such as a key or a size. */
  readonly note?: ReactNode
  /** Whether it is the current choice; absent in menus of actions. */
  readonly isOn?: boolean
  readonly isGrave?: boolean
  onChoose(): void
}

/** A button that opens a list of actions or choices. Arrows move, Esc closes and returns the focus. */
export function Menu({
  label,
  button,
  items,
  'data-act': act,
}: {
  label: string
  button: ReactNode
  items: readonly MenuItem[]
  'data-act'?: string
}): ReactNode {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const opener = useRef<HTMLButtonElement>(null)
  const lines = (): HTMLElement[] => [...(list.current?.querySelectorAll<HTMLElement>('button') ?? [])]
  const position = (): void => {
    const [menu, from] = [list.current, opener.current?.getBoundingClientRect()]
    if (menu === null || from === undefined) return
    const isBelow = from.bottom + menu.offsetHeight + 12 <= innerHeight || from.top < innerHeight / 2
    const left = Math.max(8, Math.min(from.left, innerWidth - menu.offsetWidth - 8))
    menu.style.setProperty('left', `${left}px`)
    menu.style.setProperty('top', isBelow ? `${from.bottom + 4}px` : 'auto')
    menu.style.setProperty('bottom', isBelow ? 'auto' : `${innerHeight - from.top + 4}px`)
  }
  return (
    <>
      <button
        ref={opener}
        type="button"
        className={`${uiStyle.button} ${uiStyle.small} ${uiStyle.quiet}`}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        popoverTarget={id}
        data-act={act}
      >
        {button}
      </button>
      <div
        ref={list}
        id={id}
        popover="auto"
        role="menu"
        aria-label={label}
        className={style.menu}
        onToggle={({ newState }) => {
          if (newState !== 'open') return
          position()
          // The event comes after the menu has opened: keys pressed until then have chosen a line already.
          if (list.current?.contains(document.activeElement) === true) return
          const all = lines()
          const on = all.find((line) => line.getAttribute('aria-checked') === 'true')
          ;(on ?? all[0])?.focus()
        }}
        onKeyDown={(event) => {
          const all = lines()
          const focusedIndex = all.findIndex((line) => line.matches(':focus'))
          const to = {
            ArrowDown: focusedIndex + 1,
            ArrowUp: focusedIndex - 1 + all.length,
            Home: 0,
            End: all.length - 1,
          }[event.key]
          if (to === undefined) {
            if (event.key === 'Tab') list.current?.hidePopover()
            return
          }
          event.preventDefault()
          event.stopPropagation()
          all[to % all.length]?.focus()
        }}
      >
        {items.map(({ key, text, note, isOn, isGrave, onChoose }) => (
          // biome-ignore lint/a11y/useAriaPropsSupportedByRole: it is a radio item wherever it is on or off
          <button
            key={key}
            type="button"
            tabIndex={-1}
            role={isOn === undefined ? 'menuitem' : 'menuitemradio'}
            aria-checked={isOn}
            className={isGrave === true ? `${style.item} ${uiStyle.danger}` : style.item}
            onClick={() => {
              list.current?.hidePopover()
              onChoose()
            }}
          >
            <span className={style.mark} aria-hidden="true">
              {isOn === true && '✓'}
            </span>
            <span className={style.text}>{text}</span>
            {note !== undefined && <small className={style.note}>{note}</small>}
          </button>
        ))}
      </div>
    </>
  )
}
