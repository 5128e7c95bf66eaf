import type { CatalogTool, PolicyExplanation } from '@jackfield/host/browser'
import type { Run, RunRequest } from '@jackfield/host/client'
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { useAct, useHost, useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { ArgumentEditor, readArguments } from '../questions/arguments.tsx'
import { routes } from '../routes.ts'
import { Blocks } from '../text/blocks.tsx'
import { ExactJson, Foreign, JsonTree } from '../text/foreign.tsx'
import { foreign, plain, plainText } from '../text/foreign-type.ts'
import screen from '../ui/screen.module.css'
import { Button, Empty, Key, Note, Search, uiStyle, Views } from '../ui/ui.tsx'

type Kind = 'tools' | 'prompts' | 'resources' | 'templates'
const kinds: readonly Kind[] = ['tools', 'prompts', 'resources', 'templates']

/** What a server offers, and one tool to run. */
export default function Inspect({ server, tool }: { server?: string; tool?: string }): ReactNode {
  const t = useText()
  const servers = useTopic('servers')
  const [kind, setKind] = useState<Kind>('tools')
  const [filter, setFilter] = useState('')
  const here = server ?? [...(servers?.keys() ?? [])][0]
  if (servers === undefined) return null
  if (here === undefined) return <Empty title={t('servers.empty')} />
  return (
    <div className={screen.split} data-open={tool !== undefined} data-wide="detail">
      <section className={screen.pane} aria-label={t('inspect.offers')}>
        <div className={screen.stack}>
          <nav className={screen.bar} aria-label={t('nav.servers')}>
            {[...servers.keys()].map((name) => (
              <Link
                key={name}
                href={routes.inspectServer.to(name)}
                className={`${uiStyle.button} ${uiStyle.small}`}
                aria-current={name === here ? 'page' : undefined}
              >
                <bdi>{name}</bdi>
              </Link>
            ))}
          </nav>
          <Views
            label={t('inspect.offers')}
            views={kinds.map((one) => [one, t(`inspect.${one}`)] as const)}
            value={kind}
            onChange={setKind}
          />
          <Search label={t('activity.filter')} value={filter} onChange={setFilter} />
          <Offers server={here} kind={kind} filter={filter.toLowerCase()} tool={tool} />
        </div>
      </section>
      <section className={screen.pane} aria-label={t('inspect.run')}>
        {tool === undefined ? (
          <p className={screen.nothing}>{t('inspect.choose')}</p>
        ) : (
          <Tool key={`${here} ${tool}`} server={here} name={tool} />
        )}
      </section>
    </div>
  )
}

function Offers({
  server,
  kind,
  filter,
  tool,
}: {
  server: string
  kind: Kind
  filter: string
  tool: string | undefined
}): ReactNode {
  const t = useText()
  const tools = useRead('catalog.tools', { server }, { enabled: kind === 'tools' }).data ?? []
  const prompts = useRead('catalog.prompts', { server }, { enabled: kind === 'prompts' }).data ?? []
  const resources = useRead('catalog.resources', { server }, { enabled: kind === 'resources' }).data ?? []
  const templates = useRead('catalog.templates', { server }, { enabled: kind === 'templates' }).data ?? []
  const items = {
    tools: tools.map(({ tool: one }) => ({
      name: plainText(one.name),
      about: one.description,
      to: routes.tool.to(server, plainText(one.name)),
    })),
    prompts: prompts.map(({ prompt }) => ({
      name: plainText(prompt.name),
      about: prompt.description,
      to: undefined,
    })),
    resources: resources.map(({ resource }) => ({
      name: plainText(resource.uri),
      about: resource.description,
      to: undefined,
    })),
    templates: templates.map(({ template }) => ({
      name: plainText(template.uriTemplate),
      about: template.description,
      to: undefined,
    })),
  }[kind].filter(({ name }) => name.toLowerCase().includes(filter))
  if (items.length === 0) return <p className={screen.muted}>{t('inspect.none')}</p>
  return (
    <ul className={screen.rows}>
      {items.slice(0, 500).map(({ name, about, to }) => {
        const content = (
          <>
            <span className={screen.name}>
              <Foreign text={foreign(name)} most={120} inline />
            </span>
            <span className={screen.muted}>
              {about !== undefined && <Foreign text={about} most={160} inline />}
            </span>
          </>
        )
        return (
          <li key={name}>
            {to === undefined ? (
              <div className={`${screen.row} ${screen.item}`}>{content}</div>
            ) : (
              <Link
                href={to}
                className={`${screen.row} ${screen.item}`}
                aria-current={name === tool || undefined}
              >
                {content}
              </Link>
            )}
          </li>
        )
      })}
      {items.length > 500 && (
        <li className={screen.muted}>{t('json.more', { count: items.length - 500 })}</li>
      )}
    </ul>
  )
}

type ResultView = 'result' | 'tree' | 'raw' | 'why'

function Tool({ server, name }: { server: string; name: string }): ReactNode {
  const t = useText()
  const { duration } = useFormat()
  const { client } = useHost()
  const [search] = useSearchParams()
  const tools = useRead('catalog.tools', { server })
  const entry = plain<CatalogTool[] | undefined>(tools.data)?.find(({ tool }) => tool.name === name)
  const [text, setText] = useState(() => linked(search.get('args')))
  const [view, setView] = useState<ResultView>('result')
  const [id, setId] = useState<string>()
  const [run, setRun] = useState<Run>()
  const row = useTopic('runs')?.get(id ?? '')
  const read = readArguments(text)
  const toolName = entry?.name
  const act = useAct(
    useCallback(
      async (request: RunRequest) => {
        setRun(undefined)
        const started = await client.call('runs.start', { request })
        setId(started)
        setRun(await client.call('runs.wait', { id: started }))
      },
      [client],
    ),
  )
  const why = useAct(
    useCallback(
      async (args: Record<string, unknown>) => {
        if (toolName !== undefined)
          setExplanation(await client.call('policy.explain', { tool: toolName, arguments: args }))
      },
      [client, toolName],
    ),
  )
  const [explanation, setExplanation] = useState<PolicyExplanation>()
  useEffect(() => {
    document.querySelector<HTMLElement>('main h2')?.focus()
  }, [])
  if (entry === undefined) return tools.isPending ? null : <Empty title={t('inspect.unknown')} />
  const start = (): void => {
    if ('value' in read && !act.isRunning)
      void act.run({ kind: 'call', tool: entry.name, arguments: read.value })
  }
  const call = run?.result?.call
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a key of the form
    <div
      className={screen.stack}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
          event.preventDefault()
          start()
        }
      }}
    >
      <Link href={routes.inspectServer.to(server)} className={screen.back ?? ''}>
        ‹ <bdi>{server}</bdi>
      </Link>
      <h2>
        <Foreign text={foreign(name)} inline />
      </h2>
      {entry.tool.description !== undefined && (
        <p className={screen.muted}>
          <Foreign text={foreign(entry.tool.description)} most={1_000} />
        </p>
      )}
      <ArgumentEditor schema={entry.tool.inputSchema} text={text} onChange={setText} />
      <div className={screen.bar}>
        <Button look="primary" isOff={'problem' in read || act.isRunning} onClick={start} data-act="run">
          {t('inspect.run')} <Key>Ctrl ⏎</Key>
        </Button>
        {act.isRunning && id !== undefined && (
          <Button onClick={() => void client.call('runs.stop', { id })} data-act="stop">
            {t('chat.stop')}
          </Button>
        )}
        {row?.state === 'running' && (
          <span className={screen.muted} role="status">
            <progress
              value={row.progress?.progress}
              max={row.progress?.total}
              aria-label={t('inspect.progress')}
            />{' '}
            {row.progress?.message !== undefined && <Foreign text={row.progress.message} most={120} inline />}
          </span>
        )}
      </div>
      {act.error !== undefined && (
        <Note tone="danger" live>
          <Foreign text={foreign(act.error.message)} />
        </Note>
      )}
      {run !== undefined && (
        <>
          <Views
            label={t('inspect.result')}
            views={[
              ['result', t('inspect.result')],
              ['tree', t('inspect.tree')],
              ['raw', t('inspect.raw')],
              ['why', t('inspect.why')],
            ]}
            value={view}
            onChange={(next) => {
              setView(next)
              if (next === 'why' && 'value' in read) void why.run(read.value)
            }}
          />
          <p className={screen.muted} role="status">
            {t(`run.${run.state}`)} {run.durationMs !== undefined && duration(run.durationMs)}{' '}
            {run.activity !== undefined && (
              <Link href={routes.activity.to(run.activity)}>{t('card.activity', { id: run.activity })}</Link>
            )}
          </p>
          {run.fault !== undefined && (
            <Note tone="danger">
              <Foreign text={foreign(run.fault.message)} />
            </Note>
          )}
          {call !== undefined && view === 'result' && (
            <>
              {call.result.isError === true && <Note tone="danger">{t('call.failed')}</Note>}
              <Blocks content={call.result.content} label={t('inspect.result')} />
            </>
          )}
          {call !== undefined && view === 'tree' && (
            <JsonTree value={call.result.structuredContent ?? call.result} label={t('inspect.tree')} />
          )}
          {call !== undefined && view === 'raw' && <ExactJson value={call.result} label={t('inspect.raw')} />}
          {view === 'why' && explanation !== undefined && (
            <JsonTree value={explanation} label={t('inspect.why')} />
          )}
        </>
      )}
    </div>
  )
}

/** The arguments of a link, where they are a JSON object. */
function linked(args: string | null): string {
  if (args === null) return '{}'
  const read = readArguments(args)
  return 'value' in read ? JSON.stringify(read.value, null, 2) : '{}'
}
