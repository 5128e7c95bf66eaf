import type { AttachedCopy, AttachResult, CopyDiff, Inclusion } from '@jackfield/host/browser'
import { FileText, RotateCw, X } from 'lucide-react'
import { type ReactNode, useDeferredValue, useEffect, useState } from 'react'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { Diff, HostText, SafeText } from '../text/safe-text.tsx'
import { ServerBadge } from '../text/server-badge.tsx'
import { type FromHost, fromHost, plainText } from '../text/untrusted-text.ts'
import { Button, Note, Search, uiStyle } from '../ui/ui.tsx'
import style from './chat.module.css'

type AttachedResource = FromHost<AttachedCopy>
type Ref = { readonly server: string; readonly uri: string }

const budgets = [2_000, 4_000, 8_000, 16_000, 32_000]
const refOf = ({ server, uri }: Pick<AttachedResource, 'server' | 'uri'>): Ref => ({
  server,
  uri: plainText(uri),
})
const keyOf = ({ server, uri }: Ref): string => JSON.stringify([server, uri])

/** The resources of a conversation: chosen ones, and automatically included ones with a reason each. */
export function AttachedSection({
  conversation,
  waiting,
  isPicking,
}: {
  conversation: string
  /** Resources that were not sent to the model yet. */
  waiting: readonly AttachedResource[]
  isPicking: boolean
}): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  const { client } = useHost()
  const [isOpen, setOpen] = useState(isPicking)
  const [budget, setBudget] = useState(8_000)
  const [inclusion, setInclusion] = useState<FromHost<Inclusion>>()
  const { data: copies = waiting, refetch } = useRead('library.attached', { conversation })
  const waits = waiting.map((copy) => `${keyOf(refOf(copy))}${copy.at}`).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the row of what waits changes with every change of the copies
  useEffect(() => refetch(), [waits])
  useEffect(() => {
    if (isPicking) setOpen(true)
  }, [isPicking])
  const include = useAction(async () => {
    setInclusion(fromHost(await client.call('library.include', { conversation, budget })))
    refetch()
  })
  const tokens = copies.reduce((sum, copy) => sum + copy.tokens, 0)
  const isWaiting = new Set(waiting.map((copy) => keyOf(refOf(copy))))
  return (
    <section className={style.part} aria-label={t('context.attached')} data-section="attach">
      <h3>
        {t('context.attached')} <small>{t('library.tokens', { count: compact(tokens) })}</small>
      </h3>
      {copies.length === 0 && <p className={style.quiet}>{t('context.nothing')}</p>}
      <ul>
        {copies.map((copy) => (
          <Attached
            key={keyOf(refOf(copy))}
            conversation={conversation}
            copy={copy}
            isWaiting={isWaiting.has(keyOf(refOf(copy)))}
            onChanged={refetch}
          />
        ))}
      </ul>
      {isOpen ? (
        <Picker
          conversation={conversation}
          copies={copies}
          onDone={() => setOpen(false)}
          onChanged={refetch}
        />
      ) : (
        <div className={style.choices}>
          <Button small onClick={() => setOpen(true)} data-act="add">
            {t('context.add')}
          </Button>
          {copies.length > 1 && (
            <Button
              small
              look="quiet"
              onClick={() => void client.call('library.detach', { conversation }).then(refetch)}
            >
              {t('context.detachAll')}
            </Button>
          )}
        </div>
      )}
      <div className={style.automatic}>
        <label>
          {t('context.budget')}{' '}
          <select
            className={uiStyle.input}
            value={budget}
            onChange={({ target }) => setBudget(Number(target.value))}
          >
            {budgets.map((option) => (
              <option key={option} value={option}>
                {compact(option)}
              </option>
            ))}
          </select>
        </label>
        <Button small isOff={include.isRunning} onClick={() => include.run()} data-act="include">
          {t('context.include')}
        </Button>
      </div>
      {include.error !== undefined && <ErrorNote error={include.error} />}
      {inclusion !== undefined && <Included inclusion={inclusion} />}
    </section>
  )
}

/** The result of automatic inclusion: the used budget, and the reasons for omitted resources. */
function Included({
  inclusion: { included, left, tokens, budget },
}: {
  inclusion: FromHost<Inclusion>
}): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  return (
    <div className={style.quiet} role="status">
      <p>
        {t('context.included', {
          count: included.length,
          tokens: compact(tokens),
          budget: compact(budget),
        })}
      </p>
      {left.length > 0 && (
        <details>
          <summary>{t('context.left', { count: left.length })}</summary>
          <ul>
            {left.map(({ server, uri, reason }) => (
              <li key={`${server} ${plainText(uri)}`}>
                <SafeText text={uri} maxCharacters={80} inline />:{' '}
                <HostText text={reason} maxCharacters={200} inline />
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}

function Attached({
  conversation,
  copy,
  isWaiting,
  onChanged,
}: {
  conversation: string
  copy: AttachedResource
  isWaiting: boolean
  onChanged: () => void
}): ReactNode {
  const t = useText()
  const { compact } = useFormat()
  const { client } = useHost()
  const [diff, setDiff] = useState<FromHost<CopyDiff>>()
  const ref = refOf(copy)
  const remove = (): void => {
    const method = copy.because === undefined ? 'library.detach' : 'library.exclude'
    void client.call(method, { conversation, ref }).then(onChanged)
  }
  return (
    <li className={style.copy}>
      <div className={style.copyLine}>
        <FileText size={14} aria-hidden="true" />
        <span className={style.cut} title={plainText(copy.uri).slice(0, 200)}>
          <SafeText text={copy.title} maxCharacters={60} inline />
        </span>
        <small>{compact(copy.tokens)}</small>
        <button
          type="button"
          className={style.remove}
          aria-label={t('chat.detach', { title: plainText(copy.title).slice(0, 60) })}
          onClick={remove}
        >
          <X size={14} aria-hidden="true" />
        </button>
      </div>
      <p className={style.quiet}>
        {copy.server} · {t(isWaiting ? 'context.waits' : 'context.given')}
        {copy.because !== undefined && (
          <>
            {' '}
            · {t('context.automatic')}: <HostText text={copy.because} maxCharacters={160} inline />
          </>
        )}
      </p>
      {copy.stale && (
        <div className={style.choices}>
          <span className={uiStyle.warn}>{t('context.changed')}</span>
          <Button
            small
            onClick={() =>
              void client
                .call('library.diff', { conversation, ref })
                .then((result) => setDiff(fromHost(result)))
            }
          >
            {t('context.diff')}
          </Button>
          <Button
            small
            onClick={() =>
              void client.call('library.attach', { conversation, refs: [ref] }).then(() => {
                setDiff(undefined)
                onChanged()
              })
            }
          >
            <RotateCw size={12} aria-hidden="true" /> {t('context.again')}
          </Button>
        </div>
      )}
      {diff?.pieces !== undefined && <Difference pieces={diff.pieces} />}
    </li>
  )
}

function Difference({ pieces }: { pieces: NonNullable<FromHost<CopyDiff>['pieces']> }): ReactNode {
  const of = (kind: 'removed' | 'added'): string =>
    pieces
      .filter((piece) => piece.kind === 'same' || piece.kind === kind)
      .map(({ text }) => plainText(text))
      .join('')
  return (
    <div className={style.diff}>
      <Diff before={of('removed')} after={of('added')} />
    </div>
  )
}

/** Rows that are shown; a search narrows them. */
const maxRows = 200

/** Searches resources of all servers; a chosen one is attached immediately. */
function Picker({
  conversation,
  copies,
  onDone,
  onChanged,
}: {
  conversation: string
  copies: readonly AttachedResource[]
  onDone: () => void
  onChanged: () => void
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [query, setQuery] = useState('')
  const search = useDeferredValue(query.trim())
  const [chosen, setChosen] = useState<ReadonlyMap<string, Ref>>(new Map())
  const [result, setResult] = useState<FromHost<AttachResult>>()
  const every = useRead('catalog.resources', {}).data
  const results = useRead(
    'library.search',
    { query: search, kinds: ['resource'], limit: maxRows },
    { enabled: search !== '', keepsLast: true },
  ).data
  const has = new Set(copies.map((copy) => keyOf(refOf(copy))))
  const matches =
    search === ''
      ? (every ?? [])
      : (results?.matches ?? []).flatMap(({ entry }) => (entry.kind === 'resource' ? [entry] : []))
  const rows = matches
    .map(({ server, resource }) => ({
      server,
      resource,
      ref: { server, uri: plainText(resource.uri) },
    }))
    .filter(({ ref }) => !has.has(keyOf(ref)))
  const shown = rows.slice(0, maxRows)
  const forPerson = ({ resource: { annotations } }: (typeof rows)[number]): boolean =>
    annotations?.audience?.length === 1 && annotations.audience[0] === 'user'
  const selectable = shown.filter((row) => !forPerson(row))
  const toggle = (refs: readonly Ref[], isOn: boolean): void => {
    const next = new Map(chosen)
    for (const ref of refs)
      if (isOn) next.set(keyOf(ref), ref)
      else next.delete(keyOf(ref))
    setChosen(next)
  }
  const attach = useAction(async () => {
    const attached = await client.call('library.attach', { conversation, refs: [...chosen.values()] })
    setResult(fromHost(attached))
    setChosen(new Map())
    onChanged()
    if (attached.failed.length === 0 && attached.withheld.length === 0) onDone()
  })
  const isAll = selectable.length > 0 && selectable.every(({ ref }) => chosen.has(keyOf(ref)))
  return (
    <div className={style.picker}>
      <Search
        label={t('context.find')}
        value={query}
        count={t('context.shown', { shown: shown.length, all: rows.length })}
        onChange={setQuery}
      />
      <label className={style.pick}>
        <input
          type="checkbox"
          checked={isAll}
          onChange={({ target }) =>
            toggle(
              selectable.map(({ ref }) => ref),
              target.checked,
            )
          }
          data-act="all"
        />
        <span>{t('context.all', { count: selectable.length })}</span>
      </label>
      <ul className={style.picks}>
        {shown.map((row) => (
          <li key={keyOf(row.ref)}>
            <label className={style.pick}>
              <input
                type="checkbox"
                checked={chosen.has(keyOf(row.ref))}
                disabled={forPerson(row)}
                onChange={({ target }) => toggle([row.ref], target.checked)}
              />
              <ServerBadge name={row.server} />
              <span className={style.cut}>
                <SafeText text={row.resource.title ?? row.resource.name} maxCharacters={60} inline />
              </span>
              <small>{forPerson(row) ? t('context.forPerson') : row.server}</small>
            </label>
          </li>
        ))}
      </ul>
      {attach.error !== undefined && <ErrorNote error={attach.error} />}
      {[...(result?.failed ?? []), ...(result?.withheld ?? [])].map(({ server, uri, reason }) => (
        <Note key={`${server} ${plainText(uri)}`} tone="warn" live>
          <SafeText text={uri} maxCharacters={80} inline />: <HostText text={reason} maxCharacters={300} />
        </Note>
      ))}
      <div className={style.choices}>
        <Button
          small
          look="primary"
          isOff={chosen.size === 0 || attach.isRunning}
          onClick={() => attach.run()}
          data-act="attach-chosen"
        >
          {t('context.attach', { count: chosen.size })}
        </Button>
        <Button small look="quiet" onClick={onDone}>
          {t('context.done')}
        </Button>
      </div>
    </div>
  )
}
