import { type ReactNode, useEffect, useId, useMemo, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useRead, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { keyActs, screens } from '../keys/acts.ts'
import { routes } from '../routes.ts'
import { Foreign } from '../text/foreign.tsx'
import { type Foreign as ForeignText, foreign, plainText } from '../text/foreign-type.ts'
import { Key } from '../ui/ui.tsx'
import style from './shell.module.css'

interface Entry {
  readonly kind: string
  readonly name: ForeignText
  readonly server?: string
  readonly to: string
}

const mostEntries = 50
const recentKey = 'jackfield.palette'

/** How well an entry fits what was typed: written out first, then beginnings, then parts; lower is better. */
export function fitOf(name: string, typed: string): number | undefined {
  const [at, word] = [name.toLowerCase(), typed.toLowerCase()]
  if (word === '') return 3
  if (at === word) return 0
  if (at.startsWith(word)) return 1
  if (new RegExp(`(?:^|[^\\p{L}\\p{N}])${word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`, 'u').test(at))
    return 2
  return at.includes(word) ? 3 : undefined
}

/** Finds screens, servers, tools, conversations and questions; or shows the keys. */
export default function Palette({
  view,
  onClose,
}: {
  view: 'palette' | 'keys'
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
      aria-label={t(view === 'palette' ? 'key.palette' : 'key.sheet')}
      onClose={onClose}
      onClick={(event) => {
        if (event.target === event.currentTarget) onClose()
      }}
    >
      {view === 'palette' ? <Finder onClose={onClose} /> : <Sheet />}
    </dialog>
  )
}

function Sheet(): ReactNode {
  const t = useText()
  return (
    <div className={style.sheet}>
      <h2>{t('key.sheet')}</h2>
      <dl>
        {keyActs.map(({ keys, name }) => (
          <div key={keys} style={{ display: 'contents' }}>
            <dt>
              <Key>{keys.replace('Mod', 'Ctrl')}</Key>
            </dt>
            <dd>{t(name)}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}

function Finder({ onClose }: { onClose: () => void }): ReactNode {
  const t = useText()
  const id = useId()
  const [, navigate] = useLocation()
  const [typed, setTyped] = useState('')
  const [at, setAt] = useState(0)
  const tools = useRead('catalog.tools', {}).data
  const prompts = useRead('catalog.prompts', {}).data
  const resources = useRead('catalog.resources', {}).data
  const servers = useTopic('servers')
  const conversations = useTopic('conversations')
  const entries = useMemo((): Entry[] => {
    const recent = recentEntries()
    const all: Entry[] = [
      ...screens.map(({ name, to }) => ({ kind: 'screen', name: foreign(t(name)), to })),
      ...[...(servers?.keys() ?? [])].map((name) => ({
        kind: 'server',
        name: foreign(name),
        to: routes.server.to(name),
      })),
      ...(tools ?? []).map(({ server, tool }) => ({
        kind: 'tool',
        name: tool.name,
        server,
        to: routes.tool.to(server, plainText(tool.name)),
      })),
      ...(prompts ?? []).map(({ server, prompt }) => ({
        kind: 'prompt',
        name: prompt.name,
        server,
        to: routes.inspectItem.to(server, 'prompts', plainText(prompt.name)),
      })),
      ...(resources ?? []).map(({ server, resource }) => ({
        kind: 'resource',
        name: resource.title ?? resource.name,
        server,
        to: routes.inspectItem.to(server, 'resources', plainText(resource.uri)),
      })),
      ...[...(conversations?.values() ?? [])].map((facts) => ({
        kind: 'conversation',
        name: facts.title,
        to: routes.chat.to(facts.id),
      })),
    ]
    const kind = { '#': 'tool', '>': 'screen', '/': 'prompt', '@': 'resource' }[typed[0] ?? '']
    const word = (kind === undefined ? typed : typed.slice(1)).trim()
    return all
      .filter((entry) => kind === undefined || entry.kind === kind)
      .flatMap((entry) => {
        const fit = fitOf(plainText(entry.name), word)
        return fit === undefined ? [] : [{ entry, fit, recent: recent.indexOf(entry.to) }]
      })
      .sort(
        (a, b) =>
          a.fit - b.fit || (a.recent === -1 ? 1_000 : a.recent) - (b.recent === -1 ? 1_000 : b.recent),
      )
      .slice(0, mostEntries)
      .map(({ entry }) => entry)
  }, [tools, prompts, resources, servers, conversations, typed, t])
  const open = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    localStorage.setItem(
      recentKey,
      JSON.stringify([entry.to, ...recentEntries().filter((one) => one !== entry.to)].slice(0, 20)),
    )
    navigate(entry.to)
    onClose()
  }
  return (
    <>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={entries[at] === undefined ? undefined : `${id}-${at}`}
        aria-label={t('nav.find')}
        placeholder={t('palette.placeholder')}
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={({ target }) => {
          setTyped(target.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return
          const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
          if (step !== undefined) {
            event.preventDefault()
            const next = (at + step + entries.length) % Math.max(1, entries.length)
            setAt(next)
            document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: 'nearest' })
          } else if (event.key === 'Enter') open(entries[at])
        }}
      />
      <div
        className={style.options}
        role="listbox"
        id={`${id}-list`}
        aria-label={t('palette.results')}
        tabIndex={-1}
      >
        {entries.map((entry, n) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the combobox keeps the focus
          <div
            key={`${entry.kind} ${entry.to}`}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === at}
            className={style.option}
            onClick={() => open(entry)}
          >
            <Foreign text={entry.name} most={120} inline />
            <small>
              {t(`palette.${entry.kind}`)}
              {entry.server !== undefined && ` · ${entry.server}`}
            </small>
          </div>
        ))}
        {entries.length === 0 && <p className={style.option}>{t('palette.none')}</p>}
      </div>
    </>
  )
}

function recentEntries(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(recentKey) ?? '[]')
    return Array.isArray(stored) ? stored.filter((one) => typeof one === 'string') : []
  } catch {
    return []
  }
}
