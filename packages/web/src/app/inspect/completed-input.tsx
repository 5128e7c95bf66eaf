import { type ReactNode, useId, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { uiStyle } from '../ui/ui.tsx'
import style from './inspect.module.css'

type Of = { readonly prompt: string } | { readonly template: string }

const maxShown = 50

/** A text input with completions of the server. */
export function CompletedInput({
  ids,
  server,
  of,
  argument,
  value,
  chosen,
  onChange,
}: {
  ids: { id: string; 'aria-describedby': string | undefined }
  server: string
  of: Of
  argument: string
  value: string
  /** The values of the other fields. */
  chosen: Readonly<Record<string, string>>
  onChange: (value: string) => void
}): ReactNode {
  const t = useText()
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  const [activeIndex, setActiveIndex] = useState(-1)
  const { data } = useRead('library.complete', { server, of, argument, value, chosen }, { enabled: isOpen })
  const values = plain<readonly string[] | undefined>(data?.values)?.slice(0, maxShown) ?? []
  const isShown = isOpen && values.length > 0 && !(values.length === 1 && values[0] === value)
  const choose = (next: string | undefined): void => {
    if (next === undefined) return
    onChange(next)
    setOpen(false)
    setActiveIndex(-1)
  }
  return (
    <div className={style.completed}>
      <input
        {...ids}
        className={uiStyle.input}
        role="combobox"
        aria-expanded={isShown}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isShown && activeIndex >= 0 ? `${id}-${activeIndex}` : undefined}
        autoComplete="off"
        spellCheck={false}
        value={value}
        onChange={({ target }) => {
          onChange(target.value)
          setOpen(true)
          setActiveIndex(-1)
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
          if (step !== undefined) {
            event.preventDefault()
            setOpen(true)
            if (values.length > 0) setActiveIndex((activeIndex + step + values.length) % values.length)
          } else if (
            event.key === 'Enter' &&
            isShown &&
            activeIndex >= 0 &&
            !event.ctrlKey &&
            !event.metaKey
          ) {
            event.preventDefault()
            choose(values[activeIndex])
          } else if (event.key === 'Escape' && isShown) {
            event.preventDefault()
            setOpen(false)
          }
        }}
      />
      <div
        className={style.suggestions}
        role="listbox"
        id={`${id}-list`}
        aria-label={t('inspect.suggestions')}
        hidden={!isShown}
      >
        {isShown &&
          values.map((option, n) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the combobox keeps the focus
            <div
              key={option}
              id={`${id}-${n}`}
              role="option"
              aria-selected={n === activeIndex}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(option)}
            >
              <SafeText text={untrusted(option)} inline maxCharacters={120} />
            </div>
          ))}
      </div>
    </div>
  )
}
