import { useMemo } from 'react'
import { useRead } from '../data/host.tsx'
import { type Foreign, foreign, plainText } from '../text/foreign-type.ts'

/** A word of the composer that suggestions are wanted for: `/` prompts, `@` resources, `#` tools. */
export interface Word {
  readonly sign: '/' | '@' | '#'
  readonly typed: string
  readonly from: number
  readonly to: number
}

/** The word under the caret; prompts only at the beginning of the text. */
export function wordAt(text: string, caret: number): Word | undefined {
  const [, before = '', sign, typed = ''] =
    /^([\s\S]*?(?:^|\s))?([/@#])(\S*)$/.exec(text.slice(0, caret)) ?? []
  if (sign !== '/' && sign !== '@' && sign !== '#') return undefined
  if (sign === '/' && before.trim() !== '') return undefined
  return { sign, typed, from: before.length, to: caret }
}

export function replaceWord(text: string, { from, to }: Word, by: string): { text: string; caret: number } {
  return { text: `${text.slice(0, from)}${by}${text.slice(to)}`, caret: from + by.length }
}

interface Suggestion {
  readonly key: string
  readonly name: Foreign
  readonly server: string
  readonly insert: string
  readonly attach?: { server: string; uri: string }
}

const most = 12

export function useSuggestions(word: Word | undefined): Suggestion[] {
  const prompts = useRead('library.prompts', {}, { enabled: word?.sign === '/' }).data
  const tools = useRead('catalog.tools', {}, { enabled: word?.sign === '#' }).data
  const resources = useRead(
    'library.search',
    { query: word?.typed ?? '', kinds: ['resource'], limit: most },
    { enabled: word?.sign === '@' },
  ).data
  return useMemo(() => {
    if (word === undefined) return []
    const typed = word.typed.toLowerCase()
    const fits = (name: string): boolean => name.toLowerCase().includes(typed)
    if (word.sign === '/')
      return (prompts ?? [])
        .filter(({ command }) => fits(plainText(command)))
        .slice(0, most)
        .map(({ command, server }) => ({
          key: plainText(command),
          name: foreign(`/${plainText(command)}`),
          server,
          insert: `/${plainText(command)} `,
        }))
    if (word.sign === '#')
      return (tools ?? [])
        .filter(({ name }) => fits(plainText(name)))
        .slice(0, most)
        .map(({ name, server, tool }) => ({
          key: plainText(name),
          name: tool.name,
          server,
          insert: `${plainText(name)} `,
        }))
    return (resources?.matches ?? []).flatMap(({ entry }) =>
      entry.kind === 'resource'
        ? [
            {
              key: `${entry.server} ${plainText(entry.resource.uri)}`,
              name: entry.resource.title ?? entry.resource.name,
              server: entry.server,
              insert: '',
              attach: { server: entry.server, uri: plainText(entry.resource.uri) },
            },
          ]
        : [],
    )
  }, [word, prompts, tools, resources])
}
