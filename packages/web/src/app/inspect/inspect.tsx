import type { CatalogTool } from '@jackfield/host/browser'
import { useVirtualizer } from '@tanstack/react-virtual'
import { TriangleAlert } from 'lucide-react'
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { type InspectKind, inspectKinds, routes, useAddress } from '../routes.ts'
import { TaskDetail } from '../tasks/task.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { StateLamp } from '../ui/state-lamp.tsx'
import { Empty, Search, uiStyle } from '../ui/ui.tsx'
import style from './inspect.module.css'
import { PromptPage } from './prompt.tsx'
import { ResourcePage, TemplatePage } from './resource.tsx'
import { ServerPage } from './server-page.tsx'
import { definitionErrorsOf, ToolHints, ToolPage } from './tool.tsx'

/** The inspector: servers, the lists of their tools, prompts and resources, and the selected item. */
export default function Inspect(): ReactNode {
  const t = useText()
  const [, navigate] = useLocation()
  const servers = useTopic('servers')
  const {
    parts: [, named = '', kindOf, item],
  } = useAddress()
  if (servers === undefined) return null
  const names = [...servers.keys()]
  const isReady = (name: string): boolean => servers.get(name)?.connection.state === 'ready'
  const server = named === '' ? (names.find(isReady) ?? names[0]) : named
  if (server === undefined)
    return (
      <Empty title={t('servers.empty')}>
        <p>
          <Link className={`${uiStyle.button} ${uiStyle.primary}`} href={routes.setting.to('registry')}>
            {t('servers.add')}
          </Link>
        </p>
      </Empty>
    )
  const row = servers.get(server)
  const kind = inspectKinds.find((name) => name === kindOf)
  // With only a server in the address, its first non-empty list is shown beside its details.
  const listed = kind === undefined || kind === 'server' ? firstKind(row) : kind
  return (
    <div className={style.screen} data-open={item !== undefined || kind === 'server'}>
      <section className={style.list} aria-label={t('inspect.offers')}>
        <div className={style.listHead}>
          <div className={style.serverRow}>
            <select
              className={uiStyle.input}
              aria-label={t('activity.server')}
              value={server}
              onChange={({ target }) => navigate(routes.inspectServer.to(target.value))}
            >
              {!servers.has(server) && <option>{server}</option>}
              {names.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
            {row !== undefined && <StateLamp state={row.connection.state} />}
          </div>
          <nav className={style.kinds} aria-label={t('inspect.offers')}>
            {inspectKinds.map((name) => {
              const isCurrent = name === (kind ?? listed)
              return (
                <Link
                  key={name}
                  href={routes.inspectKind.to(server, name)}
                  className={style.kind ?? ''}
                  aria-current={isCurrent ? 'page' : undefined}
                >
                  {t(`inspect.${name}`)}
                  {(name === 'tools' || name === 'prompts' || name === 'resources' || name === 'templates') &&
                    row !== undefined && <span>{row[name]}</span>}
                </Link>
              )
            })}
          </nav>
        </div>
        <Offers key={`${server} ${listed}`} server={server} kind={listed} item={item} />
      </section>
      <div className={style.detail}>
        {row === undefined ? (
          <Empty title={t('servers.unknown')} />
        ) : (
          <Detail
            key={`${server} ${kind} ${item}`}
            server={server}
            // The lists of a server that is not connected are unknown: its page says why and what to do.
            kind={isUnlisted(row, kind) ? 'server' : kind}
            item={item}
          />
        )}
      </div>
    </div>
  )
}

function firstKind(row: { tools: number; prompts: number; resources: number } | undefined): InspectKind {
  if (row === undefined || row.tools > 0) return 'tools'
  return row.prompts > 0 ? 'prompts' : row.resources > 0 ? 'resources' : 'tools'
}

/** Whether the list is empty because the server is not connected. */
function isUnlisted(
  row: {
    connection: { state: string }
    tools: number
    prompts: number
    resources: number
    templates: number
  },
  kind: InspectKind | undefined,
): boolean {
  if (kind === undefined || kind === 'server' || kind === 'tasks' || row[kind] > 0) return false
  return row.connection.state !== 'ready' && row.connection.state !== 'asleep'
}

function Detail({
  server,
  kind,
  item,
}: {
  server: string
  kind: InspectKind | undefined
  item: string | undefined
}): ReactNode {
  const t = useText()
  if (kind === undefined || kind === 'server') return <ServerPage server={server} />
  if (item === undefined) return <p className={style.nothing}>{t(`inspect.choose.${kind}`)}</p>
  switch (kind) {
    case 'tools':
      return <ToolPage server={server} name={item} />
    case 'prompts':
      return <PromptPage server={server} name={item} />
    case 'resources':
      return <ResourcePage server={server} uri={item} />
    case 'templates':
      return <TemplatePage server={server} uriTemplate={item} />
    case 'tasks':
      return <TaskOfServer server={server} id={item} />
  }
}

function TaskOfServer({ server, id }: { server: string; id: string }): ReactNode {
  const t = useText()
  const task = useTopic('tasks')?.get(id)
  if (task === undefined) return <Empty title={t('inspect.noTask')} />
  const backLink = (
    <Link href={routes.inspectKind.to(server, 'tasks')} className={style.back ?? ''}>
      ‹ <bdi>{server}</bdi>
    </Link>
  )
  return (
    <div className={style.serverPage}>
      <TaskDetail task={task} back={backLink} />
    </div>
  )
}

interface Offer {
  readonly id: string
  readonly name: string
  readonly about: string | undefined
  readonly tool?: CatalogTool
}

const rowHeight = 56

function useOffers(server: string, kind: InspectKind): readonly Offer[] | undefined {
  const tools = useRead('catalog.tools', { server }, { enabled: kind === 'tools' }).data
  const prompts = useRead('catalog.prompts', { server }, { enabled: kind === 'prompts' }).data
  const resources = useRead('catalog.resources', { server }, { enabled: kind === 'resources' }).data
  const templates = useRead('catalog.templates', { server }, { enabled: kind === 'templates' }).data
  const tasks = useTopic('tasks')
  return useMemo(() => {
    const firstText = (...candidates: readonly unknown[]): string | undefined =>
      candidates.find((text): text is string => typeof text === 'string' && text !== '')
    switch (kind) {
      case 'tools':
        return plain<CatalogTool[] | undefined>(tools)?.map((entry) => ({
          id: entry.tool.name,
          name: entry.tool.name,
          about: firstText(entry.tool.description, entry.tool.title),
          tool: entry,
        }))
      case 'prompts':
        return prompts?.map(({ prompt }) => ({
          id: plainText(prompt.name),
          name: plainText(prompt.name),
          about: firstText(prompt.description, prompt.title),
        }))
      case 'resources':
        return resources?.map(({ resource }) => ({
          id: plainText(resource.uri),
          name: firstText(resource.title, resource.name) ?? '',
          about: plainText(resource.uri),
        }))
      case 'templates':
        return templates?.map(({ template }) => ({
          id: plainText(template.uriTemplate),
          name: plainText(template.uriTemplate),
          about: firstText(template.description, template.title, template.name),
        }))
      case 'tasks':
        return [...(tasks ?? [])]
          .filter(([, task]) => task.server === server)
          .map(([id, task]) => ({ id, name: plainText(task.tool), about: task.status }))
          .toReversed()
      case 'server':
        return []
    }
  }, [kind, server, tools, prompts, resources, templates, tasks])
}

/** A list of one kind. Only the rows in view are in the document. */
function Offers({
  server,
  kind,
  item,
}: {
  server: string
  kind: InspectKind
  item: string | undefined
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const [filter, setFilter] = useState('')
  const offers = useOffers(server, kind)
  const scroller = useRef<HTMLDivElement>(null)
  const shown = useMemo(() => {
    const terms = filter.toLowerCase().split(/\s+/).filter(Boolean)
    return (offers ?? []).filter(({ name, about = '' }) =>
      terms.every((word) => `${name} ${about}`.toLowerCase().includes(word)),
    )
  }, [offers, filter])
  const rows = useVirtualizer({
    count: shown.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    initialOffset: () => Math.max(0, (shown.findIndex(({ id }) => id === item) - 3) * rowHeight),
  })
  if (offers === undefined) return null
  return (
    <>
      <div className={style.search}>
        <Search
          label={t('inspect.search')}
          value={filter}
          count={t('activity.count', { shown: number(shown.length), all: number(offers.length) })}
          onChange={setFilter}
        />
      </div>
      <div className={style.scroller} ref={scroller}>
        {shown.length === 0 && <p className={style.nothing}>{t('inspect.none')}</p>}
        <ul ref={(element) => element?.style.setProperty('height', `${rows.getTotalSize()}px`)}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const offer = shown[index]
            return (
              offer !== undefined && (
                <li
                  key={offer.id}
                  aria-setsize={shown.length}
                  aria-posinset={index + 1}
                  ref={(element) => element?.style.setProperty('transform', `translateY(${start}px)`)}
                >
                  <Link
                    href={routes.inspectItem.to(server, kind, offer.id)}
                    className={style.offer ?? ''}
                    aria-current={offer.id === item || undefined}
                  >
                    <span className={style.offerName}>
                      <span>
                        <SafeText text={untrusted(offer.name)} maxCharacters={120} inline />
                      </span>
                      {offer.tool !== undefined && <Marks tool={offer.tool} />}
                    </span>
                    {offer.about !== undefined && (
                      <span className={style.offerAbout}>
                        <SafeText text={untrusted(offer.about)} maxCharacters={160} inline />
                      </span>
                    )}
                  </Link>
                </li>
              )
            )
          })}
        </ul>
      </div>
    </>
  )
}

function Marks({ tool }: { tool: CatalogTool }): ReactNode {
  const t = useText()
  const isInvalid = definitionErrorsOf(tool).length > 0
  return (
    <span className={style.marks}>
      {isInvalid && (
        <span className={uiStyle.danger}>
          <TriangleAlert size={14} strokeWidth={1.75} aria-label={t('inspect.isInvalid')} />
        </span>
      )}
      <ToolHints tool={tool} />
    </span>
  )
}
