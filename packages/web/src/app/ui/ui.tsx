import { CircleAlert, CircleCheck, Info, Search as SearchIcon, TriangleAlert } from 'lucide-react'
import { type ButtonHTMLAttributes, type ReactNode, useId } from 'react'
import style from './ui.module.css'

type Tone = 'ok' | 'warn' | 'danger' | 'info' | 'off'

/** The properties of an icon beside a text. */
export const smallIcon = { size: 16, strokeWidth: 1.5, 'aria-hidden': true } as const

/** A button. `isOff`: it stays focusable and readable and does nothing. */
export function Button({
  look,
  small = false,
  isOff = false,
  onClick,
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & {
  look?: 'primary' | 'quiet' | undefined
  small?: boolean
  isOff?: boolean
}): ReactNode {
  const names = [style.button, look !== undefined && style[look], small && style.small]
  return (
    <button
      type="button"
      {...rest}
      className={[...names, rest.className].filter((name) => typeof name === 'string').join(' ')}
      aria-disabled={isOff || undefined}
      onClick={(event) => {
        if (!isOff) onClick?.(event)
      }}
    />
  )
}

/** A badge of two letters and a hue that depend on the identity of a server. */
export function Badge({ name, identity }: { name: string; identity: string }): ReactNode {
  let hash = 0
  for (const character of identity) hash = (hash * 31 + character.charCodeAt(0)) >>> 0
  const letters = [...name.replace(/[^\p{L}\p{N}]/gu, '')].slice(0, 2).join('').toUpperCase() || '?'
  return (
    <span
      className={style.badge}
      aria-hidden="true"
      ref={(element) => element?.style.setProperty('--hue', String((hash % 12) * 30))}
    >
      {letters}
    </span>
  )
}

/** Shows a state by shape, word and colour. */
export function Lamp({
  tone,
  icon,
  children,
}: {
  tone: Tone
  icon: ReactNode
  children: ReactNode
}): ReactNode {
  return (
    <span className={`${style.lamp} ${style[tone]}`}>
      {icon}
      <span>{children}</span>
    </span>
  )
}

const noteIcons = { info: Info, warn: TriangleAlert, danger: CircleAlert, ok: CircleCheck }

/** A notice; its colour shows the severity. */
export function Note({
  tone,
  children,
  live = false,
}: {
  tone: keyof typeof noteIcons
  children: ReactNode
  live?: boolean
}): ReactNode {
  const Icon = noteIcons[tone]
  return (
    <div className={`${style.note} ${style[tone]}`} role={live ? 'alert' : undefined}>
      <Icon size={16} strokeWidth={1.75} aria-hidden="true" />
      <div>{children}</div>
    </div>
  )
}

/** A label with its control. The control gets its id and `aria-describedby`. */
export function Field({
  id: ownId,
  label,
  hint,
  problem,
  children,
}: {
  /** The id of the control; by default a generated one. */
  id?: string
  label: ReactNode
  hint?: ReactNode
  problem?: ReactNode
  children: (ids: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': true | undefined
  }) => ReactNode
}): ReactNode {
  const generatedId = useId()
  const id = ownId ?? generatedId
  const described = [hint != null && `${id}-hint`, problem != null && `${id}-problem`].filter(
    (id) => id !== false,
  )
  return (
    <div className={style.field}>
      <label className={style.label} htmlFor={id}>
        {label}
      </label>
      {hint != null && (
        <div className={style.hint} id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {children({
        id,
        'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
        'aria-invalid': problem != null ? true : undefined,
      })}
      {problem != null && (
        <div className={style.problem} id={`${id}-problem`}>
          {problem}
        </div>
      )}
    </div>
  )
}

/** An input that filters a list, with the number of rows shown. */
export function Search({
  label,
  value,
  count,
  onChange,
}: {
  label: string
  value: string
  count?: ReactNode
  onChange: (value: string) => void
}): ReactNode {
  return (
    <div className={style.search}>
      <SearchIcon size={16} strokeWidth={1.5} aria-hidden="true" />
      <input
        type="text"
        className={style.input}
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
      {count != null && (
        <span className={style.count} role="status">
          {count}
        </span>
      )}
    </div>
  )
}

/** Switches between a few views. */
export function Views<V extends string>({
  label,
  views,
  value,
  onChange,
}: {
  label: string
  views: readonly (readonly [V, ReactNode])[]
  value: V
  onChange: (view: V) => void
}): ReactNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
    <div className={style.tabs} role="group" aria-label={label}>
      {views.map(([view, text]) => (
        <button
          type="button"
          key={view}
          className={style.tab}
          aria-pressed={view === value}
          onClick={() => onChange(view)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}

/** A labelled box that scrolls. It is not a landmark, since a screen can have many of one name. */
export function ScrollBox({
  label,
  className,
  children,
}: {
  label: string | undefined
  className: string | undefined
  children: ReactNode
}): ReactNode {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div role="group" className={className} tabIndex={0} aria-label={label}>
      {children}
    </div>
  )
}

/** Marks the label of a required field. */
export function RequiredMark({ title }: { title: string }): ReactNode {
  return (
    <span className={style.required} title={title} aria-hidden="true">
      {' *'}
    </span>
  )
}

/** Shows a key or key chord. */
export function Key({ children }: { children: ReactNode }): ReactNode {
  return (
    <span className={style.key} aria-hidden="true">
      {children}
    </span>
  )
}

/** Shown in place of an empty list: a title, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className={style.empty}>
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export { style as uiStyle }

/** Shows the current link of a row of links, which scrolls in a narrow window. */
export function scrollIntoRow(link: HTMLAnchorElement | null): void {
  link?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}
