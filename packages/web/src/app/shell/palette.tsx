import { AppWindow, MessageSquare, X, Zap } from 'lucide-react'
import {
  type ReactNode,
  type RefObject,
  useDeferredValue,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react'
import { useText } from '../i18n/i18n.ts'
import { keyBindings } from '../keys/bindings.ts'
import { SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { Button, Key } from '../ui/ui.tsx'
import style from './palette.module.css'
import { type Entry, type EntryKind, matchingEntries, rememberEntry, useEntries } from './palette-entries.ts'

/** Characters with which a search for one kind begins. */
const signs: Readonly<Record<string, EntryKind>> = { '>': 'act', '#': 'tool', '/': 'prompt', '@': 'resource' }

/** The command palette, or the list of keys. */
export default function Palette({
  view,
  typedEarly,
  onKeys,
  onFailed,
  onClose,
}: {
  view: 'palette' | 'keys'
  /** Text that was typed while the palette was loading; cleared once it is used. */
  typedEarly: RefObject<string>
  onKeys: () => void
  /** Called if an entry that was opened fails, after the palette is closed. */
  onFailed: (reason: unknown) => void
  onClose: () => void
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const t = useText()
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Esc closes a dialog by itself
    <dialog
      ref={dialog}
      className={style.palette}
      data-view={view}
      aria-label={t(view === 'palette' ? 'key.palette' : 'key.sheet')}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
    >
      {view === 'palette' ? (
        <Finder typedEarly={typedEarly} onKeys={onKeys} onFailed={onFailed} onClose={onClose} />
      ) : (
        <KeySheet />
      )}
      <Button
        small
        look="quiet"
        className={style.close}
        aria-label={t('palette.close')}
        title={t('palette.close')}
        onClick={onClose}
      >
        <X size={16} aria-hidden="true" />
      </Button>
    </dialog>
  )
}

/** All keys by scope. */
function KeySheet(): ReactNode {
  const t = useText()
  const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={style.sheet} tabIndex={0} aria-label={t('key.sheet')}>
      <h2>{t('key.sheet')}</h2>
      <div className={style.columns}>
        {(['anywhere', 'composer', 'card', 'inbox'] as const).map((scope) => (
          <section key={scope} aria-label={t(`key.where.${scope}`)}>
            <h3>{t(`key.where.${scope}`)}</h3>
            <dl>
              {keyBindings
                .filter((binding) => binding.where === scope)
                .map(({ keys, name }) => (
                  <div key={keys}>
                    <dt>
                      <Key>{keys.replace('Mod+', isMac ? '⌘' : 'Ctrl ').replace('Enter', '⏎')}</Key>
                    </dt>
                    <dd>{t(name)}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
      <p>{t('key.never')}</p>
    </section>
  )
}

/** The search of the palette with its results. */
function Finder({
  typedEarly,
  onKeys,
  onFailed,
  onClose,
}: {
  typedEarly: RefObject<string>
  onKeys: () => void
  onFailed: (reason: unknown) => void
  onClose: () => void
}): ReactNode {
  const t = useText()
  const id = useId()
  const [typed, setTyped] = useState(typedEarly.current)
  useEffect(() => {
    typedEarly.current = ''
  }, [typedEarly])
  const [activeIndex, setActiveIndex] = useState(0)
  const kind = signs[typed[0] ?? '']
  const word = (kind === undefined ? typed : typed.slice(1)).trim()
  const allEntries = useEntries(useDeferredValue(word), onKeys, onFailed)
  const entries = useMemo(() => matchingEntries(allEntries, kind, word), [allEntries, kind, word])
  const open = (entry: Entry | undefined, withLast = false): void => {
    if (entry === undefined) return
    rememberEntry(entry)
    onClose()
    if (withLast && entry.openWithLast !== undefined) entry.openWithLast()
    else entry.open()
  }
  return (
    <>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={entries[activeIndex] === undefined ? undefined : `${id}-${activeIndex}`}
        aria-label={t('nav.find')}
        placeholder={t('palette.placeholder')}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
          setActiveIndex(0)
        }}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
          if (step !== undefined) {
            event.preventDefault()
            const next = (activeIndex + step + entries.length) % Math.max(1, entries.length)
            setActiveIndex(next)
            document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' })
          } else if (event.key === 'Enter') {
            event.preventDefault()
            open(entries[activeIndex], event.ctrlKey || event.metaKey)
          }
        }}
      />
      <div
        className={style.options}
        hidden={entries.length === 0}
        role="listbox"
        id={`${id}-list`}
        aria-label={t('palette.results')}
        tabIndex={-1}
      >
        {entries.map((entry, n) => (
          <EntryOption
            key={entry.key}
            id={`${id}-${n}`}
            entry={entry}
            isActive={n === activeIndex}
            onOpen={(withLast) => open(entry, withLast)}
          />
        ))}
      </div>
      {entries.length === 0 && (
        <p className={style.none} role="status">
          {t('palette.none')}
        </p>
      )}
      <footer className={style.foot} aria-hidden="true">
        <span>
          <Key>⏎</Key> {t('palette.open')}
        </span>
        {entries[activeIndex]?.openWithLast !== undefined && (
          <span>
            <Key>Ctrl ⏎</Key> {t('palette.withLast')}
          </span>
        )}
        <span className={style.signs}>
          {Object.entries(signs).map(([sign, signKind]) => (
            <span key={sign}>
              <Key>{sign}</Key> {t(`palette.signs.${signKind}`)}
            </span>
          ))}
        </span>
      </footer>
    </>
  )
}

function EntryOption({
  id,
  entry: { kind, name, server },
  isActive,
  onOpen,
}: {
  id: string
  entry: Entry
  isActive: boolean
  onOpen: (withLast: boolean) => void
}): ReactNode {
  const t = useText()
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the combobox keeps the focus
    <div
      id={id}
      role="option"
      aria-selected={isActive}
      className={style.option}
      onClick={(event) => onOpen(event.ctrlKey || event.metaKey)}
    >
      {server === undefined ? (
        <span className={style.noBadge}>
          <KindIcon kind={kind} />
        </span>
      ) : (
        <ServerBadge name={server} />
      )}
      <span className={style.name}>
        <SafeText text={name} maxCharacters={120} inline />
      </span>
      <small>
        {t(`palette.${kind}`)}
        {server !== undefined && kind !== 'server' && ` · ${server}`}
      </small>
    </div>
  )
}

/** The icon of an entry without a server. */
function KindIcon({ kind }: { kind: EntryKind }): ReactNode {
  const Icon = kind === 'act' ? Zap : kind === 'conversation' ? MessageSquare : AppWindow
  return <Icon size={16} strokeWidth={1.5} aria-hidden="true" />
}
