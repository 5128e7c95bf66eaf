import { type ReactNode, useDeferredValue, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { Foreign, ForeignBox, JsonTree } from '../text/foreign.tsx'
import { foreign, plainText } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Empty, Field, Note, uiStyle } from '../ui/ui.tsx'

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
    ...(prompts ?? []).map((entry) => ({ entry: { kind: 'prompt' as const, ...entry } })),
    ...(templates ?? []).map((entry) => ({ entry: { kind: 'template' as const, ...entry } })),
    ...(resources ?? []).map((entry) => ({ entry: { kind: 'resource' as const, ...entry } })),
  ]
  const data = isSearch ? found : resources && { matches: all.slice(0, most), total: all.length }
  return (
    <div className={screen.split} data-open={chosen !== undefined}>
      <section className={screen.pane} aria-label={t('nav.library')}>
        <Field
          label={t('library.find')}
          hint={data && t('activity.count', { shown: number(data.matches.length), all: number(data.total) })}
        >
          {(ids) => (
            <input
              {...ids}
              className={uiStyle.input}
              value={query}
              onChange={({ target }) => setQuery(target.value)}
            />
          )}
        </Field>
        {data?.matches.length === 0 && <Empty title={t('library.none')} />}
        <ul className={screen.rows}>
          {data?.matches.map(({ entry }) => {
            if (entry.kind === 'resource') {
              const uri = plainText(entry.resource.uri)
              return (
                <li key={`${entry.server} ${uri}`} className={screen.row}>
                  <button
                    type="button"
                    className={`${uiStyle.button} ${uiStyle.quiet} ${uiStyle.small}`}
                    onClick={() => setChosen({ server: entry.server, uri })}
                  >
                    <Foreign text={entry.resource.title ?? entry.resource.name} most={100} inline />
                  </button>
                  <span className={`${screen.grow} ${screen.muted}`}>
                    {entry.server} · <Foreign text={entry.resource.uri} most={120} inline />
                  </span>
                </li>
              )
            }
            const name =
              entry.kind === 'prompt' ? foreign(`/${plainText(entry.command)}`) : entry.template.uriTemplate
            return (
              <li key={`${entry.server} ${plainText(name)}`} className={screen.row}>
                <span className={screen.name}>
                  <Foreign text={name} most={120} inline />
                </span>
                <span className={screen.muted}>
                  {entry.server} · {t(`library.${entry.kind}`)}
                </span>
              </li>
            )
          })}
        </ul>
      </section>
      <section className={screen.pane} aria-label={t('library.preview')}>
        {chosen === undefined ? (
          <p className={screen.muted}>{t('library.choose')}</p>
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
