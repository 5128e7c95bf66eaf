import { Search } from 'lucide-react'
import { Fragment, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { useRead, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { uiStyle } from '../ui/ui.tsx'
import style from './activity.module.css'

const typingMs = 250
const keys = [
  'server:',
  'kind:',
  'status:',
  'method:',
  'tool:',
  'dur:>',
  'bytes:>',
  'text:',
  'direction:',
  'since:',
  'until:',
  'row:',
  'id:',
  'cause:',
  'connection:',
] as const
export const eventKinds = [
  'call',
  'read',
  'prompt',
  'approval',
  'elicitation',
  'sampling',
  'roots',
  'model',
  'connection',
  'change',
  'result',
  'install',
  'start',
  'input',
  'drift',
  'login',
  'code',
  'conversation',
  'wire',
  'http',
  'stderr',
  'warning',
] as const
const values: Readonly<Record<string, readonly string[]>> = {
  kind: eventKinds,
  status: ['ok', 'error', 'denied', 'cancelled', 'running', 'unknown'],
  direction: ['sent', 'received'],
  since: ['5m', '1h', '1d', '7d'],
  until: ['5m', '1h', '1d', '7d'],
  method: [
    'tools/call',
    'resources/read',
    'prompts/get',
    'tools/list',
    'sampling/createMessage',
    'elicitation/create',
    'notifications/*',
  ],
  dur: ['>100', '>500', '>1s', '>10s'],
  bytes: ['>10k', '>100k', '>1m'],
}

/** Filters that are switched on and off with a click. */
const quick = [
  ['calls', 'kind:call,read,prompt'],
  ['errors', 'status:error,denied'],
  ['slow', 'dur:>500'],
  ['messages', 'kind:wire'],
  ['http', 'kind:http'],
] as const

/** The terms of a filter. A quoted text belongs to the term before it. */
function termsOf(filter: string): readonly string[] {
  return filter.match(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g) ?? []
}

/** An input for the filter with suggestions. An error is shown below its position in the text. */
export function FilterBar({
  value,
  error,
  count,
  onChange,
}: {
  value: string
  error: (Error & { readonly data?: unknown }) | undefined
  count: ReactNode
  onChange: (filter: string) => void
}): ReactNode {
  const t = useText()
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [typed, setTyped] = useState(value)
  const [isOpen, setOpen] = useState(false)
  const [activeIndex, setActiveIndex] = useState(-1)
  const [caret, setCaret] = useState(value.length)
  const lastValue = useRef(value)
  useEffect(() => {
    // Changed by a link or a button, not by typing.
    if (value === lastValue.current) return
    lastValue.current = value
    setTyped(value)
  }, [value])
  useEffect(() => {
    if (typed === lastValue.current) return
    const timer = setTimeout(() => {
      lastValue.current = typed
      onChange(typed)
    }, typingMs)
    return () => clearTimeout(timer)
  }, [typed, onChange])
  const suggestions = useSuggestions(typed, caret)
  const isShown = isOpen && suggestions.options.length > 0
  const choose = (option: string | undefined): void => {
    if (option === undefined) return
    const next = `${typed.slice(0, suggestions.from)}${option}${/[:>]$/.test(option) ? '' : ' '}${typed.slice(caret).trimStart()}`
    const nextCaret = next.length - typed.slice(caret).trimStart().length
    setTyped(next)
    setCaret(nextCaret)
    setActiveIndex(-1)
    requestAnimationFrame(() => input.current?.setSelectionRange(nextCaret, nextCaret))
  }
  const apply = (next: string): void => {
    lastValue.current = next
    setTyped(next)
    onChange(next)
  }
  const terms = termsOf(typed)
  return (
    <div className={style.filter}>
      <div className={style.filterLine}>
        <div className={style.filterInput}>
          <Search size={16} strokeWidth={1.5} aria-hidden="true" />
          <input
            ref={input}
            className={`${uiStyle.input} ${uiStyle.mono}`}
            aria-label={t('activity.filter')}
            placeholder={t('activity.filterLike')}
            role="combobox"
            aria-expanded={isShown}
            aria-controls={`${id}-list`}
            aria-autocomplete="list"
            aria-activedescendant={isShown && activeIndex >= 0 ? `${id}-${activeIndex}` : undefined}
            aria-invalid={error !== undefined || undefined}
            aria-describedby={error === undefined ? undefined : `${id}-fault`}
            autoComplete="off"
            spellCheck={false}
            value={typed}
            onChange={({ target }) => {
              setTyped(target.value)
              setCaret(target.selectionStart ?? target.value.length)
              setOpen(true)
              setActiveIndex(-1)
            }}
            onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? 0)}
            onFocus={() => setOpen(true)}
            onBlur={() => setOpen(false)}
            onKeyDown={(event) => {
              if (event.nativeEvent.isComposing) return
              const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
              if (step !== undefined && isShown) {
                event.preventDefault()
                const all = suggestions.options.length
                setActiveIndex((activeIndex + step + all) % all)
              } else if ((event.key === 'Enter' || event.key === 'Tab') && isShown && activeIndex >= 0) {
                event.preventDefault()
                choose(suggestions.options[activeIndex])
              } else if (event.key === 'Enter') {
                setOpen(false)
                apply(typed)
              } else if (event.key === 'Escape') setOpen(false)
            }}
          />
          <div
            className={style.suggestions}
            role="listbox"
            id={`${id}-list`}
            aria-label={t('activity.suggestions')}
            hidden={!isShown}
          >
            {isShown &&
              suggestions.options.map((option, n) => (
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
                  <code>
                    <SafeText text={untrusted(option)} inline maxCharacters={80} />
                  </code>
                  <span>{t(`filter.${filterKeyOf(option)}`)}</span>
                </div>
              ))}
          </div>
        </div>
        <span className={style.count} role="status">
          {count}
        </span>
      </div>
      {error !== undefined && (
        <div className={style.fault} id={`${id}-fault`} role="alert">
          {columnOf(error) !== undefined && (
            <pre aria-hidden="true">
              {typed}
              {'\n'}
              <span>{`${' '.repeat(Math.max(0, (columnOf(error) ?? 1) - 1))}▲`}</span>
            </pre>
          )}
          <HostText text={untrusted(error.message)} />
        </div>
      )}
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend */}
      <div className={style.quick} role="group" aria-label={t('activity.quick')}>
        {quick.map(([name, term]) => {
          const isOn = terms.includes(term)
          return (
            <button
              type="button"
              key={name}
              aria-pressed={isOn}
              onClick={() =>
                apply((isOn ? terms.filter((current) => current !== term) : [...terms, term]).join(' '))
              }
            >
              {t(`activity.quick.${name}`)}
            </button>
          )
        })}
      </div>
    </div>
  )
}

/** Every condition that a filter can have. */
export function FilterHelp(): ReactNode {
  const t = useText()
  return (
    <dl className={style.help}>
      {keys.map((key) => (
        <Fragment key={key}>
          <dt>
            <code>{key}</code>
          </dt>
          <dd>{t(`filter.${filterKeyOf(key)}`)}</dd>
        </Fragment>
      ))}
    </dl>
  )
}

function columnOf({ data }: { readonly data?: unknown }): number | undefined {
  if (typeof data !== 'object' || data === null || !('column' in data)) return undefined
  return typeof data.column === 'number' ? data.column : undefined
}

/** The filter key whose description is shown beside a suggestion. */
function filterKeyOf(option: string): string {
  const [, key = ''] = /^-?([a-z]+):/.exec(option) ?? []
  return key === '' ? 'text' : key
}

function useSuggestions(typed: string, caret: number): { from: number; options: readonly string[] } {
  const servers = useTopic('servers')
  const tools = useRead('catalog.tools', {}).data
  const [word = ''] = /\S*$/.exec(typed.slice(0, caret)) ?? []
  const from = caret - word.length
  const [, minus = '', key, value = ''] = /^(-?)([a-z]+):(.*)$/.exec(word) ?? []
  if (key === undefined) {
    const start = word.replace(/^-/, '')
    const sign = word.startsWith('-') ? '-' : ''
    return {
      from,
      options: keys.filter((name) => name.startsWith(start) && name !== word).map((name) => `${sign}${name}`),
    }
  }
  const candidates =
    key === 'server'
      ? [...(servers?.keys() ?? [])].map((name) => (/\s/.test(name) ? JSON.stringify(name) : name))
      : key === 'tool'
        ? [...new Set((tools ?? []).map(({ tool }) => plain<string>(tool.name)))]
        : (values[key] ?? [])
  // Several values are separated by commas.
  const completed = value.slice(0, value.lastIndexOf(',') + 1)
  const rest = value.slice(completed.length).toLowerCase()
  return {
    from,
    options: candidates
      .filter((candidate) => candidate.toLowerCase().includes(rest) && candidate !== rest)
      .slice(0, 12)
      .map((candidate) => `${minus}${key}:${completed}${candidate}`),
  }
}
