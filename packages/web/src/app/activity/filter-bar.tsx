import { Search } from 'lucide-react'
import { Fragment, type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { useRead, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { isRecord } from '../text/pieces.ts'
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
const eventKinds = [
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

/** The terms of a filter. A quoted text belongs to the term before it. */
function termsOf(filter: string): readonly string[] {
  return filter.match(/(?:"(?:[^"\\]|\\.)*"?|[^\s"])+/g) ?? []
}

type FilterFault = Error & { readonly data?: unknown }

/** The filter with suggestions, its error below it, and buttons for frequent conditions. */
export function FilterBar({
  value,
  error,
  count,
  onChange,
}: {
  value: string
  error: FilterFault | undefined
  count: ReactNode
  onChange: (filter: string) => void
}): ReactNode {
  const faultId = useId()
  const { typed, setTyped, apply } = useTypedFilter(value, onChange)
  return (
    <div className={style.filter}>
      <div className={style.filterLine}>
        <FilterInput
          typed={typed}
          faultId={error === undefined ? undefined : faultId}
          onTyped={setTyped}
          onApply={apply}
        />
        <span className={style.count} role="status">
          {count}
        </span>
      </div>
      {error !== undefined && <Fault id={faultId} typed={typed} error={error} />}
      <QuickFilters typed={typed} onApply={apply} />
    </div>
  )
}

/** The filter as it is typed. It applies a moment after the last key, or at once by `apply`. */
function useTypedFilter(
  value: string,
  onChange: (filter: string) => void,
): { typed: string; setTyped: (typed: string) => void; apply: (filter: string) => void } {
  const [typed, setTyped] = useState(value)
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
  return {
    typed,
    setTyped,
    apply(next) {
      lastValue.current = next
      setTyped(next)
      onChange(next)
    },
  }
}

/** An input that suggests conditions and their values. `faultId`: the id of the error of its text. */
function FilterInput({
  typed,
  faultId,
  onTyped,
  onApply,
}: {
  typed: string
  faultId: string | undefined
  onTyped: (typed: string) => void
  onApply: (filter: string) => void
}): ReactNode {
  const t = useText()
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [isOpen, setOpen] = useState(false)
  const [activeIndex, setActiveIndex] = useState(-1)
  const [caret, setCaret] = useState(typed.length)
  const { from, options } = useSuggestions(typed, caret)
  const isShown = isOpen && options.length > 0
  const choose = (option: string | undefined): void => {
    if (option === undefined) return
    const before = `${typed.slice(0, from)}${option}${/[:>]$/.test(option) ? '' : ' '}`
    onTyped(before + typed.slice(caret).trimStart())
    setCaret(before.length)
    setActiveIndex(-1)
    requestAnimationFrame(() => input.current?.setSelectionRange(before.length, before.length))
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && isShown) {
      event.preventDefault()
      setActiveIndex((activeIndex + step + options.length) % options.length)
    } else if ((event.key === 'Enter' || event.key === 'Tab') && isShown && activeIndex >= 0) {
      event.preventDefault()
      choose(options[activeIndex])
    } else if (event.key === 'Enter') {
      setOpen(false)
      onApply(typed)
    } else if (event.key === 'Escape') setOpen(false)
  }
  return (
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
        aria-invalid={faultId !== undefined || undefined}
        aria-describedby={faultId}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          onTyped(target.value)
          setCaret(target.selectionStart ?? target.value.length)
          setOpen(true)
          setActiveIndex(-1)
        }}
        onSelect={({ currentTarget }) => setCaret(currentTarget.selectionStart ?? 0)}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={onKeyDown}
      />
      <div
        className={style.suggestions}
        role="listbox"
        id={`${id}-list`}
        aria-label={t('activity.suggestions')}
        hidden={!isShown}
      >
        {isShown &&
          options.map((option, n) => (
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
  )
}

/** The error of a filter below its position in the text. */
function Fault({ id, typed, error }: { id: string; typed: string; error: FilterFault }): ReactNode {
  const column = columnOf(error)
  return (
    <div className={style.fault} id={id} role="alert">
      {column !== undefined && (
        <pre aria-hidden="true">
          {typed}
          {'\n'}
          <span>{`${' '.repeat(Math.max(0, column - 1))}▲`}</span>
        </pre>
      )}
      <HostText text={untrusted(error.message)} />
    </div>
  )
}

const quick = [
  ['calls', 'kind:call,read,prompt'],
  ['errors', 'status:error,denied'],
  ['slow', 'dur:>500'],
  ['messages', 'kind:wire'],
  ['http', 'kind:http'],
] as const

/** Frequent conditions, each switched on and off with a click. */
function QuickFilters({ typed, onApply }: { typed: string; onApply: (filter: string) => void }): ReactNode {
  const t = useText()
  const terms = termsOf(typed)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset would need a visible legend
    <div className={style.quick} role="group" aria-label={t('activity.quick')}>
      {quick.map(([name, term]) => {
        const isOn = terms.includes(term)
        return (
          <button
            type="button"
            key={name}
            aria-pressed={isOn}
            onClick={() =>
              onApply((isOn ? terms.filter((current) => current !== term) : [...terms, term]).join(' '))
            }
          >
            {t(`activity.quick.${name}`)}
          </button>
        )
      })}
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

function columnOf({ data }: FilterFault): number | undefined {
  const column = isRecord(data) ? data['column'] : undefined
  return typeof column === 'number' ? column : undefined
}

/** The filter key whose description is shown beside a suggestion. */
function filterKeyOf(option: string): string {
  const [, key = ''] = /^-?([a-z]+):/.exec(option) ?? []
  return key === '' ? 'text' : key
}

/** The conditions and values that complete the word at the caret, which begins at `from`. */
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
