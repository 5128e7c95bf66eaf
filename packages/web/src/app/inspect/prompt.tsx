import type { CatalogPrompt } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { routes, useAddress } from '../routes.ts'
import { JsonTree, SafeText } from '../text/safe-text.tsx'
import { plain, untrusted } from '../text/untrusted-text.ts'
import { Empty, Field, RequiredMark } from '../ui/ui.tsx'
import { CompletedInput } from './completed-input.tsx'
import style from './inspect.module.css'
import { RunResult } from './result.tsx'
import { useRun } from './run.ts'
import { Fold, RunLayout } from './run-layout.tsx'
import { commandLine, linkedArguments } from './tool.tsx'

/** A prompt with its arguments, and the messages of its last run. */
export function PromptPage({ server, name }: { server: string; name: string }): ReactNode {
  const t = useText()
  const prompts = useRead('catalog.prompts', { server })
  const entry = plain<CatalogPrompt[] | undefined>(prompts.data)?.find(({ prompt }) => prompt.name === name)
  const last = useRead(
    'library.promptValues',
    { prompt: entry?.name ?? '' },
    { enabled: entry !== undefined },
  )
  if (entry === undefined) return prompts.isPending ? null : <Empty title={t('inspect.unknown')} />
  if (last.isPending) return null
  return (
    <Prompt server={server} entry={entry} last={plain<Record<string, string> | undefined>(last.data) ?? {}} />
  )
}

/** The text arguments of a link. */
export function linkedTexts(text: string | null): Record<string, string> | undefined {
  const linked = linkedArguments(text)
  if (linked === undefined) return undefined
  return Object.fromEntries(
    Object.entries(linked).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  )
}

function Prompt({
  server,
  entry,
  last,
}: {
  server: string
  entry: CatalogPrompt
  last: Readonly<Record<string, string>>
}): ReactNode {
  const t = useText()
  const { query } = useAddress()
  const { name, description, arguments: fields = [] } = entry.prompt
  const [values, setValues] = useState<Record<string, string>>(
    () => linkedTexts(query.get('args')) ?? { ...last },
  )
  const run = useRun(server, `prompts/${name}`)
  const filledValues = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
  return (
    <RunLayout
      server={server}
      kind="prompts"
      title={name}
      run={run}
      action={t('inspect.get')}
      onRun={() => run.start({ kind: 'prompt', prompt: entry.name, arguments: filledValues })}
      head={
        description !== undefined && (
          <p className={style.about}>
            <SafeText text={untrusted(description)} maxCharacters={600} />
          </p>
        )
      }
      form={
        <>
          {fields.length === 0 && <p className={style.quiet}>{t('inspect.noArguments')}</p>}
          <div className={style.form}>
            {fields.map((field) => (
              <Field
                key={field.name}
                label={
                  <>
                    <SafeText text={untrusted(field.name)} inline />
                    {field.required === true && <RequiredMark title={t('schema.required')} />}
                  </>
                }
                hint={
                  field.description === undefined ? undefined : (
                    <SafeText text={untrusted(field.description)} maxCharacters={400} />
                  )
                }
              >
                {(ids) => (
                  <CompletedInput
                    ids={ids}
                    server={server}
                    of={{ prompt: name }}
                    argument={field.name}
                    value={values[field.name] ?? ''}
                    chosen={filledValues}
                    onChange={(value) => setValues({ ...values, [field.name]: value })}
                  />
                )}
              </Field>
            ))}
          </div>
          <Fold title={t('inspect.definition')}>
            <JsonTree value={entry.prompt} label={t('inspect.definition')} />
          </Fold>
        </>
      }
    >
      <RunResult
        of={run}
        server={server}
        link={routes.inspectItem.to(server, 'prompts', name, filledValues)}
        command={commandLine('prompt', server, name, filledValues)}
      />
    </RunLayout>
  )
}
