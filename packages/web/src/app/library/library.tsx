import type { LibraryEntry } from '@jackfield/host/browser'
import type { LibraryLeaf } from '@jackfield/host/client'
import { type ReactNode, useCallback, useDeferredValue, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { plain } from '../text/untrusted-text.ts'
import { loaded } from '../ui/loaded.tsx'
import screen from '../ui/screen.module.css'
import { Empty, Search, uiStyle } from '../ui/ui.tsx'
import style from './library.module.css'
import { ResourcePreview } from './resource-preview.tsx'
import { Selection } from './selection.tsx'
import { leafKey } from './tree.ts'
import { TreeView } from './tree-view.tsx'

const Prompts = loaded(() => import('./prompts.tsx'))
const maxFound = 200

/** The library screen: search, preview and choose resources, templates and prompts of all servers for a conversation. */
export default function Library({ server, uri }: { server?: string; uri?: string }): ReactNode {
  const t = useText()
  const search = new URLSearchParams(useSearch())
  const isPrompts = server === undefined && search.get('in') === 'prompts'
  const prompt = search.get('prompt') ?? undefined
  return (
    <div className={style.library}>
      <nav className={screen.tabs} aria-label={t('nav.library')}>
        <Link
          href={routes.library.to()}
          className={screen.tab ?? ''}
          aria-current={isPrompts ? undefined : 'page'}
        >
          {t('inspect.resources')}
        </Link>
        <Link
          href={routes.prompt.to()}
          className={screen.tab ?? ''}
          aria-current={isPrompts ? 'page' : undefined}
        >
          {t('inspect.prompts')}
        </Link>
      </nav>
      <h2 className="hidden-text">{t(isPrompts ? 'inspect.prompts' : 'inspect.resources')}</h2>
      {isPrompts ? (
        <Prompts {...(prompt !== undefined && { chosen: prompt })} />
      ) : (
        <Resources {...(server !== undefined && uri !== undefined && { shown: { server, uri } })} />
      )}
    </div>
  )
}

function Resources({ shown }: { shown?: { server: string; uri: string } }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const [, navigate] = useLocation()
  const servers = useTopic('servers')
  const [query, setQuery] = useState('')
  const searchText = useDeferredValue(query).trim()
  const [chosen, setChosen] = useState<ReadonlyMap<string, LibraryLeaf>>(new Map())
  const total = useRead('library.children', { path: [], limit: maxFound }).data
  const results = useRead(
    'library.search',
    { query: searchText, kinds: ['resource', 'template'], limit: maxFound, content: true },
    { enabled: searchText !== '', keepsLast: true },
  ).data
  const matches =
    searchText === ''
      ? undefined
      : results?.matches.flatMap(({ entry }) => leafIn(plain<LibraryEntry>(entry)))
  const all = total?.nodes.reduce((sum, { resources, templates }) => sum + resources + templates, 0) ?? 0
  const choose = useCallback((leaves: readonly LibraryLeaf[], isChosen: boolean) => {
    setChosen((before) => {
      const next = new Map(before)
      for (const leaf of leaves) {
        if (isChosen) next.set(leafKey(leaf), leaf)
        else next.delete(leafKey(leaf))
      }
      return next
    })
  }, [])
  const show = useCallback(
    ({ server, uri }: LibraryLeaf) => navigate(routes.resource.to(server, uri)),
    [navigate],
  )
  const isStarting = [...(servers?.values() ?? [])].some(
    ({ connection }) => connection.state === 'connecting',
  )
  if (total?.nodes.length === 0 && shown === undefined && !isStarting)
    return (
      <Empty title={t('library.empty')}>
        <p>{t('library.emptyMeans')}</p>
        <p>
          <Link className={`${uiStyle.button} ${uiStyle.primary}`} href={routes.setting.to('registry')}>
            {t('servers.add')}
          </Link>
        </p>
      </Empty>
    )
  return (
    <div className={`${screen.split} ${style.split}`} data-open={shown !== undefined}>
      <section className={`${screen.pane} ${style.list}`} aria-label={t('inspect.resources')}>
        <Search
          label={t('library.find')}
          value={query}
          count={
            searchText === ''
              ? t('library.count', { count: all })
              : results &&
                t('activity.count', { shown: number(matches?.length ?? 0), all: number(results.total) })
          }
          onChange={setQuery}
        />
        <TreeView matches={matches} chosen={chosen} shown={shown} onChoose={choose} onShow={show} />
        <Selection chosen={chosen} onClear={() => setChosen(new Map())} />
      </section>
      <section className={screen.pane} aria-label={t('library.preview')}>
        {shown === undefined ? (
          <p className={screen.nothing}>{t('library.choose')}</p>
        ) : (
          <ResourcePreview
            key={leafKey(shown)}
            {...shown}
            isChosen={chosen.has(leafKey(shown))}
            onChoose={choose}
          />
        )}
      </section>
    </div>
  )
}

/** Converts a search result to a tree row. */
function leafIn(entry: LibraryEntry): LibraryLeaf[] {
  if (entry.kind === 'prompt') return []
  const { server } = entry
  if (entry.kind === 'template') {
    const { uriTemplate, name, title = name } = entry.template
    return [{ server, uri: uriTemplate, title, isTemplate: true }]
  }
  const { uri, name, title = name, size } = entry.resource
  return [{ server, uri, title, ...(size !== undefined && { tokens: Math.ceil(size / 4) }) }]
}
