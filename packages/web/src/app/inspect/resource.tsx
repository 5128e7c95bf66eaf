import type { CatalogResource, CatalogTemplate } from '@jackfield/host/browser'
import { Eye, EyeOff } from 'lucide-react'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useAction, useHost, useRead, useTopic } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes, useAddress } from '../routes.ts'
import { ErrorNote } from '../text/fixes.tsx'
import { JsonTree, SafeText } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { Button, Empty, Field, Note } from '../ui/ui.tsx'
import { CompletedInput } from './completed-input.tsx'
import style from './inspect.module.css'
import { linkedTexts } from './prompt.tsx'
import { RunResult } from './result.tsx'
import { type InspectorRun, useRun } from './run.ts'
import { Fold, RunLayout } from './run-layout.tsx'
import { commandLine } from './tool.tsx'

/** A resource: its contents, and its updates while it is subscribed. */
export function ResourcePage({ server, uri }: { server: string; uri: string }): ReactNode {
  const t = useText()
  const resources = useRead('catalog.resources', { server })
  const run = useRun(server, `resources/${uri}`)
  if (resources.isPending) return null
  // A resource that is not listed may come from a template or a link.
  const entry = plain<CatalogResource[] | undefined>(resources.data)?.find(
    ({ resource }) => resource.uri === uri,
  )
  const { title, description, mimeType } = entry?.resource ?? {}
  return (
    <RunLayout
      server={server}
      kind="resources"
      title={uri}
      run={run}
      action={t('inspect.read')}
      onRun={() => run.start({ kind: 'read', server, uri })}
      head={
        <>
          {(title ?? mimeType) !== undefined && (
            <p className={style.subtitle}>
              <SafeText
                text={untrusted([title, mimeType].filter((part) => part !== undefined).join(' · '))}
                maxCharacters={300}
              />
            </p>
          )}
          {description !== undefined && (
            <p className={style.about}>
              <SafeText text={untrusted(description)} maxCharacters={600} />
            </p>
          )}
          {entry === undefined && <Note tone="info">{t('inspect.notListed')}</Note>}
        </>
      }
      form={
        <>
          <Watching server={server} uri={uri} run={run} />
          {entry !== undefined && (
            <Fold title={t('inspect.definition')}>
              <JsonTree value={entry.resource} label={t('inspect.definition')} />
            </Fold>
          )}
        </>
      }
    >
      <RunResult
        of={run}
        server={server}
        link={routes.inspectItem.to(server, 'resources', uri)}
        command={commandLine('read', server, uri)}
      />
    </RunLayout>
  )
}

/** Subscribes to a resource and reads it after each update. */
function Watching({ server, uri, run }: { server: string; uri: string; run: InspectorRun }): ReactNode {
  const t = useText()
  const { time } = useFormat()
  const { client } = useHost()
  const runs = useTopic('runs')
  const label = `jackfield.watch.${server}/${uri}`
  const [id, setId] = useState(() => sessionStorage.getItem(label) ?? '')
  const row = runs?.get(id)
  const isWatched = row?.state === 'running'
  const changes = (row?.watched?.changes ?? []).filter(
    ({ change }) => change.type === 'resource' && plainText(change.uri) === uri,
  )
  const newest = changes.at(-1)?.number ?? 0
  const seen = useRef(newest)
  const { start, isRunning } = run
  useEffect(() => {
    if (newest <= seen.current || isRunning) return
    seen.current = newest
    start({ kind: 'read', server, uri })
  }, [newest, isRunning, start, server, uri])
  const watchAction = useAction(async () => {
    if (isWatched) await client.call('runs.stop', { id })
    else {
      const started = await client.call('runs.start', { request: { kind: 'watch', server, uris: [uri] } })
      sessionStorage.setItem(label, started)
      setId(started)
    }
  })
  const errorMessage =
    watchAction.error?.message ??
    (row?.state === 'failed' ? row.fault && plainText(row.fault.message) : undefined)
  return (
    <div className={style.watch}>
      <div className={style.bar}>
        <Button
          small
          isOff={watchAction.isRunning}
          aria-pressed={isWatched}
          onClick={() => void watchAction.run()}
          data-act="watch"
        >
          {isWatched ? (
            <EyeOff size={16} strokeWidth={1.5} aria-hidden="true" />
          ) : (
            <Eye size={16} strokeWidth={1.5} aria-hidden="true" />
          )}
          {t(isWatched ? 'inspect.unwatch' : 'inspect.watch')}
        </Button>
        {isWatched && (
          <span className={style.quiet} role="status">
            {t('inspect.updates', { count: changes.length })}
          </span>
        )}
      </div>
      {errorMessage !== undefined && (
        <Note tone="danger" live>
          <SafeText text={untrusted(errorMessage)} />
        </Note>
      )}
      {isWatched && changes.length > 0 && (
        <ol className={style.updates} aria-label={t('inspect.watch')}>
          {changes
            .slice(-5)
            .toReversed()
            .map(({ number, at }) => (
              <li key={number}>
                #{number} · {time(plainText(untrusted(String(at))))}
              </li>
            ))}
        </ol>
      )}
    </div>
  )
}

/** A template: its variables with completion, and the resource that they name. */
export function TemplatePage({ server, uriTemplate }: { server: string; uriTemplate: string }): ReactNode {
  const t = useText()
  const templates = useRead('catalog.templates', { server })
  const fields = useRead('library.fields', { uriTemplate })
  const { query } = useAddress()
  const { client } = useHost()
  const [values, setValues] = useState<Record<string, string>>(() => linkedTexts(query.get('args')) ?? {})
  const run = useRun(server, `templates/${uriTemplate}`)
  const filledValues = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
  const isReady =
    fields.data?.every(({ name, required }) => !required || filledValues[plainText(name)] !== undefined) ??
    false
  const expanded = useRead('library.expand', { uriTemplate, values: filledValues }, { enabled: isReady }).data
  const { start } = run
  const runAction = useAction(async () => {
    const uri = await client.call('library.expand', { uriTemplate, values: filledValues })
    start({ kind: 'read', server, uri })
  })
  const entry = plain<CatalogTemplate[] | undefined>(templates.data)?.find(
    ({ template }) => template.uriTemplate === uriTemplate,
  )
  if (entry === undefined) return templates.isPending ? null : <Empty title={t('inspect.unknown')} />
  const { description } = entry.template
  const uri = expanded === undefined ? undefined : plainText(expanded)
  return (
    <RunLayout
      server={server}
      kind="templates"
      title={uriTemplate}
      run={run}
      action={t('inspect.read')}
      isOff={!isReady}
      onRun={() => void runAction.run()}
      head={
        description !== undefined && (
          <p className={style.about}>
            <SafeText text={untrusted(description)} maxCharacters={600} />
          </p>
        )
      }
      form={
        <>
          <div className={style.form}>
            {fields.data?.map(({ name: field, required }) => {
              const name = plainText(field)
              return (
                <Field
                  key={name}
                  label={
                    <>
                      <SafeText text={field} inline />
                      {required && <span aria-hidden="true"> *</span>}
                    </>
                  }
                >
                  {(ids) => (
                    <CompletedInput
                      ids={ids}
                      server={server}
                      of={{ template: uriTemplate }}
                      argument={name}
                      value={values[name] ?? ''}
                      chosen={filledValues}
                      onChange={(value) => setValues({ ...values, [name]: value })}
                    />
                  )}
                </Field>
              )
            })}
          </div>
          {uri !== undefined && (
            <p className={style.quiet}>
              <code>
                <SafeText text={untrusted(uri)} inline />
              </code>
            </p>
          )}
          {runAction.error !== undefined && <ErrorNote error={runAction.error} />}
          <Fold title={t('inspect.definition')}>
            <JsonTree value={entry.template} label={t('inspect.definition')} />
          </Fold>
        </>
      }
    >
      <RunResult
        of={run}
        server={server}
        link={routes.inspectItem.to(server, 'templates', uriTemplate, filledValues)}
        command={uri === undefined ? undefined : commandLine('read', server, uri)}
      />
    </RunLayout>
  )
}
