import { type ReactNode, useDeferredValue, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Foreign, ForeignBox, JsonTree } from '../text/foreign.tsx'
import { foreign, plainText } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Empty, Note, Search, uiStyle } from '../ui/ui.tsx'

const most = 200

/** Resources and prompts of all servers, and what one of them says. */
export default function Library(): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const [query, setQuery] = useState('')
  const search = useDeferredValue(query)
  const [chosen, setChosen] = useState<{ server: string; uri: string }>()
  const isSearch = search.trim() !== ''
  const found = useRead(
    'library.search',
    { query: search, limit: 100, content: true },
    { enabled: isSearch },
  ).data
  const resources = useRead('catalog.resources', {}).data
  const templates = useRead('catalog.templates', {}).data
  const prompts = useRead('library.prompts', {}).data
  // Without words to search for: everything that there is.
  const all = [
    ...(resources ?? []).map((entry) => ({ entry: { kind: 'resource' as const, ...entry } })),
    ...(templates ?? []).map((entry) => ({ entry: { kind: 'template' as const, ...entry } })),
    ...(prompts ?? []).map((entry) => ({ entry: { kind: 'prompt' as const, ...entry } })),
  ]
  const data = isSearch ? found : resources && { matches: all.slice(0, most), total: all.length }
  const groups = (['resource', 'template', 'prompt'] as const).flatMap((kind) => {
    const matches = data?.matches.filter(({ entry }) => entry.kind === kind) ?? []
    return matches.length === 0 ? [] : [{ kind, matches }]
  })
  return (
    <div className={screen.split} data-open={chosen !== undefined}>
      <section className={screen.pane} aria-label={t('nav.library')}>
        <Search
          label={t('library.find')}
          value={query}
          count={data && t('activity.count', { shown: number(data.matches.length), all: number(data.total) })}
          onChange={setQuery}
        />
        {data?.matches.length === 0 && <Empty title={t('library.none')} />}
        {groups.map(({ kind, matches }) => (
          <section key={kind} className={screen.section} aria-label={t(`inspect.${kind}s`)}>
            <h2 className={screen.group}>{t(`inspect.${kind}s`)}</h2>
            <ul className={screen.rows}>
              {matches.map(({ entry }) => {
                if (entry.kind === 'resource') {
                  const uri = plainText(entry.resource.uri)
                  return (
                    <li key={`${entry.server} ${uri}`}>
                      <button
                        type="button"
                        className={screen.row}
                        aria-current={(chosen?.server === entry.server && chosen.uri === uri) || undefined}
                        onClick={() => setChosen({ server: entry.server, uri })}
                      >
                        <span className={screen.name}>
                          <Foreign text={entry.resource.title ?? entry.resource.name} most={100} inline />
                        </span>
                        <span className={`${screen.grow} ${screen.muted} ${screen.cut}`}>
                          <Foreign text={entry.resource.uri} most={120} inline />
                        </span>
                        <span className={screen.muted}>{entry.server}</span>
                      </button>
                    </li>
                  )
                }
                const isPrompt = entry.kind === 'prompt'
                const name = isPrompt ? foreign(`/${plainText(entry.command)}`) : entry.template.uriTemplate
                return (
                  <li key={`${entry.server} ${plainText(name)}`} className={screen.row}>
                    <span className={`${screen.grow} ${screen.cut}`}>
                      <Foreign text={name} most={120} inline />
                    </span>
                    <span className={screen.muted}>{entry.server}</span>
                  </li>
                )
              })}
            </ul>
          </section>
        ))}
      </section>
      <section className={screen.pane} aria-label={t('library.preview')}>
        {chosen === undefined ? (
          <p className={screen.nothing}>{t('library.choose')}</p>
        ) : (
          <Preview {...chosen} onBack={() => setChosen(undefined)} />
        )}
      </section>
    </div>
  )
}

function Preview({ server, uri, onBack }: { server: string; uri: string; onBack: () => void }): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const { data, error } = useRead('library.preview', { server, uri })
  return (
    <div className={screen.stack}>
      <button type="button" className={`${uiStyle.button} ${uiStyle.small} ${screen.back}`} onClick={onBack}>
        ‹ {t('nav.library')}
      </button>
      <h2>
        <Foreign text={foreign(uri)} inline />
      </h2>
      {error !== null && (
        <Note tone="danger">
          <Foreign text={foreign(error.message)} />
        </Note>
      )}
      {data !== undefined && (
        <>
          <p className={screen.muted}>
            {server} · {t('library.tokens', { count: number(data.tokens) })}
          </p>
          {data.withheld !== undefined && (
            <Note tone="info">
              <Foreign text={data.withheld} />
            </Note>
          )}
          {data.contents.map((content) =>
            'text' in content ? (
              <ForeignBox key={plainText(content.uri)} text={content.text} label={uri} />
            ) : (
              <JsonTree key={plainText(content.uri)} value={content} label={uri} />
            ),
          )}
        </>
      )}
    </div>
  )
}
