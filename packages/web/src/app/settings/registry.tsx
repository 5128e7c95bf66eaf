import { type ReactNode, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { ChangeReview, useChange } from '../config/change.tsx'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { plainText } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Field, Note, uiStyle, Views } from '../ui/ui.tsx'
import { Installation } from './installation.tsx'
import style from './settings.module.css'

const methods = ['registry', 'command', 'import'] as const
type Method = (typeof methods)[number]

/** Adds servers: from the registry, by a command or an address, or those that other applications know. */
export default function RegistrySection({ name }: { name?: string }): ReactNode {
  const t = useText()
  const search = useSearch()
  const [method, setMethod] = useState<Method>(
    () => methods.find((name) => name === new URLSearchParams(search).get('way')) ?? 'registry',
  )
  const discovered = useRead('config.found', {}).data?.filter(({ isKnown }) => !isKnown)
  const isChangeable = useRead('config.view', {}).error === null
  if (!isChangeable) return <Note tone="info">{t('registry.unavailable')}</Note>
  if (name !== undefined) return <Installation key={name} published={name} />
  return (
    <>
      <p className={screen.muted}>{t('registry.mean')}</p>
      <Views
        label={t('servers.add')}
        views={methods.map(
          (name) => [name, t(`registry.way.${name}`, { count: discovered?.length ?? 0 })] as const,
        )}
        value={method}
        onChange={setMethod}
      />
      {method === 'registry' && <Finder />}
      {method === 'command' && <ByCommand />}
      {method === 'import' && <Import />}
    </>
  )
}

function Finder(): ReactNode {
  const t = useText()
  const [typed, setTyped] = useState('')
  const [searchText, setSearchText] = useState<string>()
  const [cursors, setCursors] = useState<readonly string[]>([])
  return (
    <>
      <form
        className={style.inline}
        onSubmit={(event) => {
          event.preventDefault()
          setSearchText(typed.trim())
          setCursors([])
        }}
      >
        <Field label={t('registry.search')} hint={t('registry.searchHint')}>
          {(ids) => (
            <input
              {...ids}
              type="search"
              className={uiStyle.input}
              spellCheck={false}
              value={typed}
              onChange={({ target }) => setTyped(target.value)}
            />
          )}
        </Field>
        <Button look="primary" type="submit" data-act="search">
          {t('registry.find')}
        </Button>
      </form>
      {searchText !== undefined && (
        <ul className={screen.rows} aria-label={t('registry.results')}>
          {[undefined, ...cursors].map((cursor, n) => (
            <Page
              key={cursor ?? 'first'}
              words={searchText}
              {...(cursor !== undefined && { cursor })}
              isLast={n === cursors.length}
              onMore={(next) => setCursors([...cursors, next])}
            />
          ))}
        </ul>
      )}
    </>
  )
}

function Page({
  words,
  cursor,
  isLast,
  onMore,
}: {
  words: string
  cursor?: string
  isLast: boolean
  onMore: (cursor: string) => void
}): ReactNode {
  const t = useText()
  const { data, error, isPending } = useRead('registry.search', {
    words,
    ...(cursor !== undefined && { cursor }),
  })
  if (error !== null)
    return (
      <li>
        <ErrorNote error={error} />
      </li>
    )
  if (data === undefined)
    return isPending ? <li className={screen.muted}>{t('registry.searching')}</li> : null
  const { nextCursor } = data
  return (
    <>
      {data.servers.length === 0 && cursor === undefined && (
        <li className={screen.muted}>{t('registry.none')}</li>
      )}
      {data.servers.map((server) => {
        const name = plainText(server.name)
        return (
          <li key={`${name} ${plainText(server.version)}`}>
            <Link className={`${screen.row} ${style.result}`} href={routes.registryServer.to(name)}>
              <span className={style.resultName}>
                <SafeText text={server.title ?? server.name} maxCharacters={80} inline />
                {server.title !== undefined && (
                  <span className={style.code}>
                    <SafeText text={server.name} maxCharacters={120} inline />
                  </span>
                )}
              </span>
              <span className={`${screen.grow} ${screen.muted}`}>
                <SafeText text={server.description} maxCharacters={200} inline />
              </span>
              <span className={screen.muted}>
                <SafeText text={server.version} maxCharacters={40} inline />
              </span>
              <span className={style.tags}>
                {server.kinds.map((kind) => (
                  <span key={plainText(kind)} className={style.tag}>
                    <SafeText text={kind} maxCharacters={40} inline />
                  </span>
                ))}
              </span>
            </Link>
          </li>
        )
      })}
      {isLast && nextCursor !== undefined && (
        <li className={screen.row}>
          <Button small onClick={() => onMore(plainText(nextCursor))}>
            {t('registry.more')}
          </Button>
        </li>
      )}
    </>
  )
}

/** A server by its own command line or address. */
function ByCommand(): ReactNode {
  const t = useText()
  const [, navigate] = useLocation()
  const [name, setName] = useState('')
  const [kind, setKind] = useState<'command' | 'url'>('command')
  const [commandLine, setCommandLine] = useState('')
  const [url, setUrl] = useState('')
  const change = useChange(() => navigate(routes.server.to(name.trim())))
  const [command, ...args] = commandLine.split('\n').filter((word) => word !== '')
  const entry =
    kind === 'url'
      ? URL.canParse(url)
        ? { url: url.trim() }
        : undefined
      : command === undefined
        ? undefined
        : { command, ...(args.length > 0 && { args }) }
  return (
    <section className={style.panel} aria-label={t('registry.way.command')}>
      <Field label={t('registry.name')} hint={t('registry.nameHint')}>
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            spellCheck={false}
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        )}
      </Field>
      <Views
        label={t('registry.kind')}
        views={[
          ['command', t('registry.program')],
          ['url', t('registry.url')],
        ]}
        value={kind}
        onChange={setKind}
      />
      {kind === 'command' ? (
        <Field label={t('registry.words')} hint={t('registry.wordsHint')}>
          {(ids) => (
            <textarea
              {...ids}
              className={`${uiStyle.input} ${uiStyle.mono}`}
              rows={4}
              placeholder={'npx\n-y\n@scope/server'}
              spellCheck={false}
              value={commandLine}
              onChange={({ target }) => setCommandLine(target.value)}
            />
          )}
        </Field>
      ) : (
        <Field label={t('registry.url')}>
          {(ids) => (
            <input
              {...ids}
              type="url"
              className={uiStyle.input}
              placeholder="https://example.org/mcp"
              spellCheck={false}
              value={url}
              onChange={({ target }) => setUrl(target.value)}
            />
          )}
        </Field>
      )}
      {change.planned === undefined && (
        <div>
          <Button
            look="primary"
            data-act="review"
            isOff={entry === undefined || name.trim() === '' || change.isRunning}
            onClick={() =>
              entry !== undefined && void change.plan({ kind: 'server', name: name.trim(), entry })
            }
          >
            {t('change.review')}
          </Button>
        </div>
      )}
      <ChangeReview change={change} />
    </section>
  )
}

/** Servers that other applications know, to be copied. Their files are only read. */
function Import(): ReactNode {
  const t = useText()
  const [, navigate] = useLocation()
  const { data } = useRead('config.found', {})
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const change = useChange(() => navigate(routes.servers.to()))
  if (data === undefined) return null
  const keyOf = ({ file, name }: (typeof data)[number]): string => `${plainText(file)} ${plainText(name)}`
  const importable = data.filter(({ isKnown }) => !isKnown)
  // If several applications have a server of one name, the first is selected.
  const first = new Map(importable.toReversed().map((entry) => [plainText(entry.name), keyOf(entry)]))
  const isChosen = (entry: (typeof data)[number]): boolean => {
    const key = keyOf(entry)
    return first.get(plainText(entry.name)) === key ? !toggled.has(key) : toggled.has(key)
  }
  const chosen = importable.filter(isChosen)
  if (data.length === 0) return <p className={screen.muted}>{t('import.none')}</p>
  return (
    <>
      <p className={screen.muted}>{t('import.mean')}</p>
      <ul className={screen.rows} aria-label={t('registry.way.import', { count: importable.length })}>
        {data.map((entry) => (
          <li key={keyOf(entry)} className={screen.row}>
            <label className={`${screen.grow} ${style.choice}`}>
              <input
                type="checkbox"
                disabled={entry.isKnown}
                checked={!entry.isKnown && isChosen(entry)}
                onChange={() => {
                  const next = new Set(toggled)
                  if (!next.delete(keyOf(entry))) next.add(keyOf(entry))
                  setToggled(next)
                  change.cancel()
                }}
              />
              <span className={style.resultName}>
                <SafeText text={entry.name} inline />
                <span className={style.code}>
                  <SafeText text={entry.origin} maxCharacters={160} inline />
                </span>
              </span>
            </label>
            <span className={screen.muted}>
              {entry.isKnown && `${t('import.known')} · `}
              <SafeText text={entry.app} inline />
            </span>
          </li>
        ))}
      </ul>
      {change.planned === undefined && (
        <div>
          <Button
            look="primary"
            data-act="review"
            isOff={chosen.length === 0 || change.isRunning}
            onClick={() =>
              void change.plan({
                kind: 'import',
                servers: chosen.map(({ file, name }) => ({ file: plainText(file), name: plainText(name) })),
              })
            }
          >
            {t('import.copy', { count: chosen.length })}
          </Button>
        </div>
      )}
      <ChangeReview change={change} />
    </>
  )
}
