import type { Activity } from '@jackfield/host/browser'
import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { useHost, useRead, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { screens } from '../keys/bindings.ts'
import { lastCallOf } from '../questions/last-call.ts'
import { routes, useShownConversation } from '../routes.ts'
import { plainText, type UntrustedText, untrusted } from '../text/untrusted-text.ts'
import { useDock } from './dock-state.ts'

/** In the order of entries that match equally well. */
const kinds = ['question', 'screen', 'server', 'conversation', 'tool', 'prompt', 'act', 'resource'] as const
export type EntryKind = (typeof kinds)[number]

export interface Entry {
  readonly kind: EntryKind
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
const maxRecent = 20

/** Ranks a match: 0 exact, 1 prefix, 2 prefix of a word, 3 anywhere; undefined if it does not match. */
function matchRank(name: string, typed: string): number | undefined {
  const [lowerName, word] = [name.toLowerCase(), typed.toLowerCase()]
  if (word === '') return 3
  if (lowerName === word) return 0
  if (lowerName.startsWith(word)) return 1
  if (new RegExp(`(?:^|[^\\p{L}\\p{N}])${word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`, 'u').test(lowerName))
    return 2
  return lowerName.includes(word) ? 3 : undefined
}

/** The entries that match a word, the best and then the most recent first. */
export function matchingEntries(all: readonly Entry[], kind: EntryKind | undefined, word: string): Entry[] {
  const recent = recentEntries()
  return all
    .filter((entry) => kind === undefined || entry.kind === kind)
    .flatMap((entry) => {
      const rank =
        matchRank(plainText(entry.name), word) ??
        (entry.keywords !== undefined && matchRank(entry.keywords, word) !== undefined ? 4 : undefined)
      const recency = recent.indexOf(entry.key)
      return rank === undefined ? [] : [{ entry, rank, recency: recency === -1 ? maxRecent : recency }]
    })
    .sort(
      (a, b) =>
        a.rank - b.rank || a.recency - b.recency || kinds.indexOf(a.entry.kind) - kinds.indexOf(b.entry.kind),
    )
    .slice(0, maxEntries)
    .map(({ entry }) => entry)
}

function recentEntries(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(recentKey) ?? '[]')
    return Array.isArray(stored) ? stored.filter((key) => typeof key === 'string') : []
  } catch {
    return []
  }
}

/** Stores that an entry was opened. */
export function rememberEntry({ key }: Entry): void {
  const others = recentEntries().filter((other) => other !== key)
  localStorage.setItem(recentKey, JSON.stringify([key, ...others].slice(0, maxRecent)))
}

/**
 * The entries of the palette. Resources are searched by the host, since there may be many. `onFailed`: called if an entry that was
 * opened fails, after the palette is closed.
 */
export function useEntries(word: string, onKeys: () => void, onFailed: (reason: unknown) => void): Entry[] {
  const questions = useQuestionEntries()
  const places = usePlaceEntries()
  const tools = useToolEntries()
  const prompts = usePromptEntries(onFailed)
  const conversations = useConversationEntries()
  const resources = useResourceEntries(word, onFailed)
  const commands = useCommandEntries(onKeys, onFailed)
  return useMemo(
    () => [...questions, ...places, ...tools, ...prompts, ...conversations, ...resources, ...commands],
    [questions, places, tools, prompts, conversations, resources, commands],
  )
}

function useQuestionEntries(): Entry[] {
  const t = useText()
  const [, navigate] = useLocation()
  const inbox = useTopic('inbox')
  return useMemo(
    () =>
      [...(inbox?.values() ?? [])]
        .filter(({ state }) => state === 'open')
        .map(({ id, question }): Entry => {
          const { server, tool } = question.cause
          return {
            kind: 'question',
            key: routes.question.to(id),
            name: untrusted(
              question.kind === 'approval' && tool !== undefined
                ? t('approval.title', { server, tool: plainText(tool) })
                : t(`announce.${question.kind}`, { server }),
            ),
            keywords: tool === undefined ? '' : plainText(tool),
            server,
            open: () => navigate(routes.question.to(id)),
          }
        }),
    [inbox, t, navigate],
  )
}

/** Screens, and the pages of servers. */
function usePlaceEntries(): Entry[] {
  const t = useText()
  const [, navigate] = useLocation()
  const servers = useTopic('servers')
  return useMemo(
    () => [
      ...screens.map(
        ({ name, to }): Entry => ({
          kind: 'screen',
          key: to,
          name: untrusted(t(name)),
          open: () => navigate(to),
        }),
      ),
      ...[...(servers?.keys() ?? [])].map(
        (server): Entry => ({
          kind: 'server',
          key: routes.server.to(server),
          name: untrusted(server),
          server,
          open: () => navigate(routes.server.to(server)),
        }),
      ),
    ],
    [servers, t, navigate],
  )
}

function useToolEntries(): Entry[] {
  const { client } = useHost()
  const [, navigate] = useLocation()
  const tools = useRead('catalog.tools', {}).data
  return useMemo(
    () =>
      (tools ?? []).map(({ server, tool }): Entry => {
        const toolName = plainText(tool.name)
        return {
          kind: 'tool',
          key: routes.tool.to(server, toolName),
          name: tool.name,
          keywords: `${plainText(tool.title ?? tool.name)} ${server}`,
          server,
          open: () => navigate(routes.tool.to(server, toolName)),
          openWithLast() {
            client.call('activity.list', { server, kind: 'call', limit: 200 }).then(
              (rows: readonly Activity[]) =>
                navigate(routes.tool.to(server, toolName, lastCallOf(rows, toolName, '~')?.arguments)),
              () => navigate(routes.tool.to(server, toolName)),
            )
          },
        }
      }),
    [tools, client, navigate],
  )
}

function useConversationEntries(): Entry[] {
  const [, navigate] = useLocation()
  const conversations = useTopic('conversations')
  return useMemo(
    () =>
      [...(conversations?.values() ?? [])].map(
        ({ id, title }): Entry => ({
          kind: 'conversation',
          key: routes.chat.to(id),
          name: title,
          open: () => navigate(routes.chat.to(id)),
        }),
      ),
    [conversations, navigate],
  )
}

/** Opened in the conversation on the screen, else in a new one. */
function usePromptEntries(onFailed: (reason: unknown) => void): Entry[] {
  const { client } = useHost()
  const [, navigate] = useLocation()
  const conversation = useShownConversation()
  const prompts = useRead('library.prompts', {}).data
  return useMemo(
    () =>
      (prompts ?? []).map(({ command, server, prompt }): Entry => {
        const name = plainText(command)
        return {
          kind: 'prompt',
          key: `/${name}`,
          name: untrusted(`/${name}`),
          keywords: plainText(prompt.title ?? prompt.name),
          server,
          open() {
            const show = (id: string): void => navigate(routes.chat.to(id, name))
            if (conversation !== undefined) show(conversation)
            else client.call('conversations.open', {}).then(show, onFailed)
          },
        }
      }),
    [prompts, conversation, client, navigate, onFailed],
  )
}

/** Attached to the conversation on the screen, else inspected. */
function useResourceEntries(word: string, onFailed: (reason: unknown) => void): Entry[] {
  const { client } = useHost()
  const [, navigate] = useLocation()
  const dock = useDock()
  const conversation = useShownConversation()
  const results = useRead(
    'library.search',
    { query: word, kinds: ['resource'], limit: 20 },
    { enabled: word.length > 1 },
  ).data
  return useMemo(
    () =>
      (results?.matches ?? []).flatMap(({ entry }): Entry[] => {
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
              if (conversation === undefined) navigate(routes.inspectItem.to(server, 'resources', uri))
              else
                client
                  .call('library.attach', { conversation, refs: [{ server, uri }] })
                  .then(() => dock.show('context'), onFailed)
            },
          },
        ]
      }),
    [results, word, conversation, client, dock, navigate, onFailed],
  )
}

function useCommandEntries(onKeys: () => void, onFailed: (reason: unknown) => void): Entry[] {
  const t = useText()
  const { client } = useHost()
  const [, navigate] = useLocation()
  const dock = useDock()
  const servers = useTopic('servers')
  return useMemo(() => {
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
        client.call('runs.start', { request: { kind, server } }).catch(onFailed)
        navigate(routes.server.to(server))
      },
    })
    const startConversation = (): void => {
      client.call('conversations.open', {}).then((id) => navigate(routes.chat.to(id)), onFailed)
    }
    return [
      command('command.new', startConversation),
      command('key.dock', () => dock.toggle()),
      command('command.context', () => dock.show('context')),
      command('command.log', () => dock.show('log')),
      command('key.sheet', onKeys),
      ...[...(servers?.keys() ?? [])].flatMap((name) => [run('reconnect', name), run('examine', name)]),
    ]
  }, [servers, t, client, dock, navigate, onKeys, onFailed])
}
