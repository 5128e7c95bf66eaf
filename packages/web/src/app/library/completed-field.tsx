import type { CompletionField } from '@jackfield/host/browser'
import { type ReactNode, useDeferredValue, useId } from 'react'
import { useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import { Field, RequiredMark, uiStyle } from '../ui/ui.tsx'

/** A field with suggestions of its server. */
export function CompletedField({
  server,
  of,
  argument,
  description,
  required,
  value,
  chosen,
  onChange,
}: Pick<CompletionField, 'server' | 'of' | 'argument' | 'value'> & {
  description?: string | undefined
  required: boolean
  chosen: Readonly<Record<string, string>>
  onChange: (value: string) => void
}): ReactNode {
  const t = useText()
  const id = useId()
  const later = useDeferredValue(value)
  const { data } = useRead('library.complete', { server, of, argument, value: later, chosen })
  return (
    <>
      <Field
        label={
          <>
            <SafeText text={untrusted(argument)} inline />
            {required && <RequiredMark title={t('schema.required')} />}
          </>
        }
        hint={
          description === undefined ? undefined : (
            <SafeText text={untrusted(description)} maxCharacters={300} />
          )
        }
      >
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            list={`${id}-values`}
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        )}
      </Field>
      <datalist id={`${id}-values`}>
        {(data?.values ?? []).slice(0, 100).map((suggestion) => (
          <option key={plainText(suggestion)} value={plainText(suggestion)} />
        ))}
      </datalist>
    </>
  )
}
