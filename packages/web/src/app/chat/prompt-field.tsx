import { type ReactNode, useEffect, useId, useState } from 'react'
import { useHost } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { type UntrustedText, untrusted } from '../text/untrusted-text.ts'
import { Field, uiStyle } from '../ui/ui.tsx'
import style from './chat.module.css'

/** One argument of a prompt, with values that its server suggests. */
export function PromptField({
  server,
  prompt,
  name,
  description,
  isRequired,
  values,
  onChange,
}: {
  server: string
  prompt: string
  name: string
  description: UntrustedText | undefined
  isRequired: boolean
  values: Readonly<Record<string, string>>
  onChange: (value: string) => void
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const list = useId()
  const value = values[name] ?? ''
  const [completions, setCompletions] = useState<readonly string[]>([])
  const [activeIndex, setActiveIndex] = useState(-1)
  const [hasFocus, setHasFocus] = useState(false)
  const otherValues = JSON.stringify(values)
  useEffect(() => {
    if (!hasFocus) return
    const stop = new AbortController()
    const { [name]: _, ...chosen }: Record<string, string> = JSON.parse(otherValues)
    client
      .call(
        'library.complete',
        { server, of: { prompt }, argument: name, value, chosen },
        { signal: stop.signal },
      )
      .then((completion) => {
        setCompletions(completion?.values.filter((completed) => completed !== value).slice(0, 20) ?? [])
        setActiveIndex(-1)
      })
      // Without suggestions it is a plain input.
      .catch(() => {})
    return () => stop.abort()
  }, [client, server, prompt, name, value, otherValues, hasFocus])
  const isOpen = hasFocus && completions.length > 0
  const choose = (chosen: string | undefined): void => {
    if (chosen === undefined) return
    onChange(chosen)
    setCompletions([])
  }
  return (
    <div className={style.completing}>
      <Field
        label={
          <>
            <SafeText text={untrusted(name)} inline />{' '}
            <span className={uiStyle.hint}>{t(isRequired ? 'form.required' : 'form.optional')}</span>
          </>
        }
        hint={description !== undefined && <SafeText text={description} maxCharacters={300} />}
      >
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            role="combobox"
            aria-autocomplete="list"
            aria-expanded={isOpen}
            aria-controls={isOpen ? list : undefined}
            aria-activedescendant={isOpen && activeIndex >= 0 ? `${list}-${activeIndex}` : undefined}
            required={isRequired}
            autoComplete="off"
            value={value}
            onFocus={() => setHasFocus(true)}
            onBlur={() => setHasFocus(false)}
            onChange={({ target }) => onChange(target.value)}
            onKeyDown={(event) => {
              if (event.nativeEvent.isComposing) return
              const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
              if (isOpen && step !== undefined) {
                event.preventDefault()
                setActiveIndex((activeIndex + step + completions.length) % completions.length)
              } else if (isOpen && event.key === 'Escape') {
                event.preventDefault()
                setCompletions([])
              } else if (isOpen && activeIndex >= 0 && event.key === 'Enter') {
                event.preventDefault()
                choose(completions[activeIndex])
              } else if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) {
                // Focuses the next field; after the last one the form is submitted.
                const fields = [...(event.currentTarget.form?.querySelectorAll('input') ?? [])]
                const next = fields[fields.indexOf(event.currentTarget) + 1]
                if (next === undefined) return
                event.preventDefault()
                next.focus()
              }
            }}
          />
        )}
      </Field>
      {isOpen && (
        <Options
          id={list}
          name={name}
          completions={completions}
          activeIndex={activeIndex}
          onChoose={choose}
        />
      )}
    </div>
  )
}

function Options({
  id,
  name,
  completions,
  activeIndex,
  onChoose,
}: {
  id: string
  name: string
  completions: readonly string[]
  activeIndex: number
  onChoose: (value: string) => void
}): ReactNode {
  const t = useText()
  return (
    <div
      className={style.options}
      role="listbox"
      id={id}
      tabIndex={-1}
      aria-label={t('prompt.values', { name })}
    >
      {completions.map((option, n) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
        // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
        <div
          key={option}
          id={`${id}-${n}`}
          role="option"
          aria-selected={n === activeIndex}
          className={style.suggestion}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onChoose(option)}
        >
          <SafeText text={untrusted(option)} maxCharacters={120} inline />
        </div>
      ))}
    </div>
  )
}
