import type { LibraryPrompt } from '@jackfield/host/browser'
import type { ModelRow } from '@jackfield/host/client'
import { useMemo } from 'react'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { type FromHost, plainText, type UntrustedText, untrusted } from '../text/untrusted-text.ts'
import { type ChatCommand, commands } from './commands.ts'

/** The word to complete in the composer: `/` commands and prompts, `@` resources, `#` tools. */
export interface Word {
  readonly sign: '/' | '@' | '#'
  readonly typed: string
  readonly from: number
  readonly to: number
}

/** The word under the caret; commands and prompts only at the beginning of the text. */
export function wordAt(text: string, caret: number): Word | undefined {
  const [, model] = /^\/model (\S*)$/.exec(text.slice(0, caret)) ?? []
  if (model !== undefined) return { sign: '/', typed: `model ${model}`, from: 0, to: caret }
  const [, before = '', sign, typed = ''] =
    /^([\s\S]*?(?:^|\s))?([/@#])(\S*)$/.exec(text.slice(0, caret)) ?? []
  if (sign !== '/' && sign !== '@' && sign !== '#') return undefined
  if (sign === '/' && before.trim() !== '') return undefined
  return { sign, typed, from: before.length, to: caret }
}

export function replaceWord(
  text: string,
  { from, to }: Word,
  replacement: string,
): { text: string; caret: number } {
  return { text: `${text.slice(0, from)}${replacement}${text.slice(to)}`, caret: from + replacement.length }
}

/** What choosing a suggestion does. */
export type Choice =
  | { readonly insert: string }
  | { readonly attach: { readonly server: string; readonly uri: string } }
  | { readonly prompt: FromHost<LibraryPrompt> }
  | { readonly command: ChatCommand }
  | { readonly model: string }

export interface Suggestion {
  readonly key: string
  readonly group: 'command' | 'model' | 'prompt' | 'resource' | 'tool'
  readonly name: UntrustedText
  /** A description by the server or the page. */
  readonly about: UntrustedText | undefined
  readonly note: string
  readonly choice: Choice
}

const maxSuggestions = 40

export function useSuggestions(word: Word | undefined): Suggestion[] {
  const t = useText()
  const isSlash = word?.sign === '/'
  const prompts = useRead('library.prompts', {}, { enabled: isSlash }).data
  const models = useRead('models.list', {}, { enabled: isSlash }).data
  const tools = useRead('catalog.tools', {}, { enabled: word?.sign === '#' }).data
  const resources = useRead(
    'library.search',
    { query: word?.typed ?? '', kinds: ['resource'], limit: maxSuggestions },
    { enabled: word?.sign === '@' && word.typed !== '' },
  ).data
  const every = useRead('catalog.resources', {}, { enabled: word?.sign === '@' && word.typed === '' }).data
  return useMemo(() => {
    if (word === undefined) return []
    const typed = word.typed.toLowerCase()
    const fits = (name: string): boolean => name.toLowerCase().includes(typed)
    if (word.sign === '/') {
      const [, model] = /^model (.*)$/.exec(typed) ?? []
      if (model !== undefined) return modelSuggestions(models ?? [], model)
      const commandSuggestions = commands
        .filter(({ name }) => name.startsWith(typed))
        .map(
          (command): Suggestion => ({
            key: `/${command.name}`,
            group: 'command',
            name: untrusted(`/${command.name}`),
            about: untrusted(t(command.text)),
            note: '',
            choice: command.name === 'model' ? { insert: '/model ' } : { command },
          }),
        )
      const served = (prompts ?? [])
        .filter(({ command }) => fits(plainText(command)))
        .map((prompt): Suggestion => {
          const { title, description } = prompt.prompt
          return {
            key: `prompt ${plainText(prompt.command)}`,
            group: 'prompt',
            name: untrusted(`/${plainText(prompt.command)}`),
            about: title ?? description,
            note: prompt.server,
            choice: { prompt },
          }
        })
      return [...served, ...commandSuggestions].slice(0, maxSuggestions)
    }
    if (word.sign === '#')
      return (tools ?? [])
        .filter(({ name, tool }) => fits(plainText(name)) || fits(plainText(tool.title ?? tool.name)))
        .slice(0, maxSuggestions)
        .map(({ name, server, tool }) => ({
          key: plainText(name),
          group: 'tool',
          name: tool.name,
          about: tool.title ?? tool.description,
          note: server,
          choice: { insert: `${plainText(name)} ` },
        }))
    const entries =
      word.typed === ''
        ? (every ?? []).slice(0, maxSuggestions)
        : (resources?.matches ?? []).flatMap(({ entry }) => (entry.kind === 'resource' ? [entry] : []))
    return entries.map(({ server, resource }) => ({
      key: `${server} ${plainText(resource.uri)}`,
      group: 'resource',
      name: resource.title ?? resource.name,
      about: resource.uri,
      note: server,
      choice: { attach: { server, uri: plainText(resource.uri) } },
    }))
  }, [word, prompts, models, tools, resources, every, t])
}

function modelSuggestions(models: readonly FromHost<ModelRow>[], typed: string): Suggestion[] {
  return models
    .filter(({ id }) => id.toLowerCase().includes(typed))
    .map(({ id }) => ({
      key: `model ${id}`,
      group: 'model',
      name: untrusted(id),
      about: undefined,
      note: '',
      choice: { model: id },
    }))
}
