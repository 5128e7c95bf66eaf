import type { Activity } from '@jackfield/host/browser'
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
import { useLocation } from 'wouter'
import { useHost, useRead, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { keyBindings, screens } from '../keys/bindings.ts'
import { lastCallOf } from '../questions/last-call.ts'
import { routes } from '../routes.ts'
import { SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { plainText, type UntrustedText, untrusted } from '../text/untrusted-text.ts'
import { Button, Key } from '../ui/ui.tsx'
import { useDock } from './dock-state.ts'
import style from './palette.module.css'

type Kind = 'act' | 'screen' | 'question' | 'tool' | 'prompt' | 'resource' | 'conversation' | 'server'

interface Entry {
  readonly kind: Kind
  /** Identifies the entry in the list of recent ones. */
  readonly key: string
  readonly name: UntrustedText
  /** Further texts that the search matches. */
  readonly keywords?: string
  readonly server?: string
  open(): void
  /** Called with Ctrl+Enter: opens a tool with the arguments of its last call. */
  openWithLast?(): void
}

const maxEntries = 60
const recentKey = 'jackfield.palette'
const signs: Readonly<Record<string, Kind>> = { '>': 'act', '#': 'tool', '/': 'prompt', '@': 'resource' }
const kinds: readonly Kind[] = [
  'question',
  'screen',
  'server',
  'conversation',
  'tool',
  'prompt',
  'act',
  'resource',
]

/** Ranks a match: 0 exact, 1 prefix, 2 prefix of a word, 3 anywhere; undefined if it does not match. */
export function matchRank(name: string, typed: string): number | undefined {
  const [lowerName, word] = [name.toLowerCase(), typed.toLowerCase()]
  if (word === '') return 3
  if (lowerName === word) return 0
  if (lowerName.startsWith(word)) return 1
  if (new RegExp(`(?:^|[^\\p{L}\\p{N}])${word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`, 'u').test(lowerName))
    return 2
  return lowerName.includes(word) ? 3 : undefined
}

/** The command palette, or the list of keys. */
export default function Palette({
  view,
  typedEarly,
  onKeys,
  onClose,
}: {
  view: 'palette' | 'keys'
  /** Text that was typed while the palette was loading; cleared once it is used. */
  typedEarly: RefObject<string>
  onKeys: () => void
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
        <Finder typedEarly={typedEarly} onKeys={onKeys} onClose={onClose} />
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

function Finder({
  typedEarly,
  onKeys,
  onClose,
}: {
  typedEarly: RefObject<string>
  onKeys: () => void
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
  const allEntries = useEntries(useDeferredValue(word), onKeys)
  const entries = useMemo(() => {
    const recent = recentEntries()
    return allEntries
      .filter((entry) => kind === undefined || entry.kind === kind)
      .flatMap((entry) => {
        const rank =
          matchRank(plainText(entry.name), word) ??
          (entry.keywords !== undefined && matchRank(entry.keywords, word) !== undefined ? 4 : undefined)
        const recency = recent.indexOf(entry.key)
        return rank === undefined ? [] : [{ entry, fit: rank, lately: recency === -1 ? 1_000 : recency }]
      })
      .sort(
        (a, b) =>
          a.fit - b.fit || a.lately - b.lately || kinds.indexOf(a.entry.kind) - kinds.indexOf(b.entry.kind),
      )
      .slice(0, maxEntries)
      .map(({ entry }) => entry)
  }, [allEntries, kind, word])
  const open = (entry: Entry | undefined, withLast = false): void => {
    if (entry === undefined) return
    localStorage.setItem(
      recentKey,
      JSON.stringify([entry.key, ...recentEntries().filter((key) => key !== entry.key)].slice(0, 20)),
    )
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
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the combobox keeps the focus
          <div
            key={entry.key}
            id={`${id}-${n}`}
            role="option"
            aria-selected={n === activeIndex}
            className={style.option}
            onClick={(event) => open(entry, event.ctrlKey || event.metaKey)}
          >
            {entry.server === undefined ? (
              <span className={style.noBadge}>
                <KindIcon kind={entry.kind} />
              </span>
            ) : (
              <ServerBadge name={entry.server} />
            )}
            <span className={style.name}>
              <SafeText text={entry.name} maxCharacters={120} inline />
            </span>
            <small>
              {t(`palette.${entry.kind}`)}
              {entry.server !== undefined && entry.kind !== 'server' && ` · ${entry.server}`}
            </small>
          </div>
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

/** The icon of an entry without a server. */
function KindIcon({ kind }: { kind: Kind }): ReactNode {
  const Icon = kind === 'act' ? Zap : kind === 'conversation' ? MessageSquare : AppWindow
  return <Icon size={16} strokeWidth={1.5} aria-hidden="true" />
}

/** The entries of the palette. Resources are searched by the host, since there may be many. */
function useEntries(word: string, onKeys: () => void): Entry[] {
  const t = useText()
  const { client } = useHost()
  const dock = useDock()
  const [location, navigate] = useLocation()
  const tools = useRead('catalog.tools', {}).data
  const prompts = useRead('library.prompts', {}).data
  const servers = useTopic('servers')
  const conversations = useTopic('conversations')
  const inbox = useTopic('inbox')
  const results = useRead(
    'library.search',
    { query: word, kinds: ['resource'], limit: 20 },
    { enabled: word.length > 1 },
  ).data
  return useMemo((): Entry[] => {
    const [, currentChat] = /^\/chat\/([^/?]+)/.exec(location) ?? []
    const to =
      (path: string): (() => void) =>
      () =>
        navigate(path)
    const currentConversation = async (): Promise<string> =>
      currentChat === undefined
        ? await client.call('conversations.open', {})
        : decodeURIComponent(currentChat)
    const startConversation = (): void => {
      client.call('conversations.open', {}).then(
        (id) => navigate(routes.chat.to(id)),
        () => navigate(routes.chats.to()),
      )
    }
    const command = (name: string, open: () => void): Entry => ({
      kind: 'act',
      key: `> ${name}`,
      name: untrusted(t(name)),
      open,
    })
    const run = (kind: 'reconnect' | 'examine', server: string): Entry => ({
      kind: 'act',
      key: `> ${kind} ${server}`,
      name: untrusted(t(`palette.${kind}`, { server })),
      server,
      open() {
        client.call('runs.start', { request: { kind, server } }).catch(() => {})
        navigate(routes.server.to(server))
      },
    })
    const names = [...(servers?.keys() ?? [])]
    return [
      ...[...(inbox?.values() ?? [])]
        .filter(({ state }) => state === 'open')
        .map(
          ({ id, question }): Entry => ({
            kind: 'question',
            key: routes.question.to(id),
            name: untrusted(
              question.kind === 'approval' && question.cause.tool !== undefined
                ? t('approval.title', {
                    server: question.cause.server,
                    tool: plainText(question.cause.tool),
                  })
                : t(`announce.${question.kind}`, { server: question.cause.server }),
            ),
            keywords: question.cause.tool === undefined ? '' : plainText(question.cause.tool),
            server: question.cause.server,
            open: to(routes.question.to(id)),
          }),
        ),
      ...screens.map(
        ({ name, to: path }): Entry => ({
          kind: 'screen',
          key: path,
          name: untrusted(t(name)),
          open: to(path),
        }),
      ),
      ...names.map(
        (name): Entry => ({
          kind: 'server',
          key: routes.server.to(name),
          name: untrusted(name),
          server: name,
          open: to(routes.server.to(name)),
        }),
      ),
      ...(tools ?? []).map(({ server, tool, name }): Entry => {
        const toolName = plainText(tool.name)
        return {
          kind: 'tool',
          key: routes.tool.to(server, toolName),
          name: tool.name,
          keywords: `${plainText(tool.title ?? tool.name)} ${server}`,
          server,
          open: to(routes.tool.to(server, toolName)),
          openWithLast() {
            client.call('activity.list', { server, kind: 'call', limit: 200 }).then(
              (rows: readonly Activity[]) =>
                navigate(routes.tool.to(server, toolName, lastCallOf(rows, plainText(name), '~')?.arguments)),
              () => navigate(routes.tool.to(server, toolName)),
            )
          },
        }
      }),
      ...(prompts ?? []).map(({ command, server, prompt }): Entry => {
        const name = plainText(command)
        return {
          kind: 'prompt',
          key: `/${name}`,
          name: untrusted(`/${name}`),
          keywords: plainText(prompt.title ?? prompt.name),
          server,
          open: () => void currentConversation().then((id) => navigate(routes.chat.to(id, name))),
        }
      }),
      ...[...(conversations?.values() ?? [])].map(
        (facts): Entry => ({
          kind: 'conversation',
          key: routes.chat.to(facts.id),
          name: facts.title,
          open: to(routes.chat.to(facts.id)),
        }),
      ),
      ...(results?.matches ?? []).flatMap(({ entry }): Entry[] => {
        if (entry.kind !== 'resource') return []
        const { server, resource } = entry
        const uri = plainText(resource.uri)
        return [
          {
            kind: 'resource',
            key: `@${server} ${uri}`,
            name: resource.title ?? resource.name,
            keywords: `${uri} ${word}`,
            server,
            open() {
              if (currentChat === undefined) navigate(routes.inspectItem.to(server, 'resources', uri))
              else
                void currentConversation()
                  .then((conversation) =>
                    client.call('library.attach', { conversation, refs: [{ server, uri }] }),
                  )
                  .then(() => dock.show('context'))
            },
          },
        ]
      }),
      command('command.new', startConversation),
      command('key.dock', () => dock.toggle()),
      command('command.context', () => dock.show('context')),
      command('command.log', () => dock.show('log')),
      command('key.sheet', onKeys),
      ...names.flatMap((name) => [run('reconnect', name), run('examine', name)]),
    ]
  }, [
    tools,
    prompts,
    servers,
    conversations,
    inbox,
    results,
    word,
    location,
    t,
    client,
    dock,
    navigate,
    onKeys,
  ])
}

function recentEntries(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(recentKey) ?? '[]')
    return Array.isArray(stored) ? stored.filter((key) => typeof key === 'string') : []
  } catch {
    return []
  }
}
