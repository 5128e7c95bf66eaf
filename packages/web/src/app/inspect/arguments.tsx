import { type ReactNode, useState } from 'react'
import { useText } from '../i18n/i18n.ts'
import { ArgumentsProblem, readArguments } from '../questions/arguments.tsx'
import type { ReportUnreadable } from '../questions/json-text.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { loaded } from '../ui/loaded.tsx'
import { Note, uiStyle, Views } from '../ui/ui.tsx'
import style from './inspect.module.css'
import { describeSchema, issuesOf, type Schema } from './schema.ts'
import { SchemaForm } from './schema-form.tsx'

/** An editor for JSON, whose code is loaded when it is shown first. */
export const JsonField = loaded(() => import('./json-editor.tsx'), PlainJsonField)

function PlainJsonField({
  text,
  label,
  onChange,
}: {
  text: string
  label: string
  onChange: (text: string) => void
}): ReactNode {
  return (
    <textarea
      className={`${uiStyle.input} ${uiStyle.mono}`}
      aria-label={label}
      rows={6}
      spellCheck={false}
      value={text}
      onChange={({ target }) => onChange(target.value)}
    />
  )
}

/** Edits arguments in a form of their schema or as JSON, and shows validation issues. Both edit the same text. */
export function Arguments({
  schema,
  text,
  onChange,
  report,
}: {
  schema: Schema
  text: string
  onChange: (text: string) => void
  report: ReportUnreadable
}): ReactNode {
  const t = useText()
  const read = readArguments(text)
  const { kind, properties } = describeSchema(schema, schema)
  const hasForm = kind === 'object'
  const [view, setView] = useState<'form' | 'json'>('form')
  const shown = hasForm && 'value' in read ? view : 'json'
  // A required field that is still empty is not shown as an error.
  const issues = 'value' in read ? issuesOf(schema, read.value) : []
  const shownIssues = issues.filter(({ message }) => !message.startsWith('must have the property'))
  const otherIssues = shown === 'form' ? shownIssues.filter(({ path }) => path === '') : issues
  return (
    <div className={style.arguments}>
      {hasForm && (
        <Views
          label={t('editor.view')}
          views={[
            ['form', t('editor.form')],
            ['json', 'JSON'],
          ]}
          value={shown}
          onChange={setView}
        />
      )}
      {shown === 'form' && properties.length === 0 ? (
        <p className={style.quiet}>{t('inspect.noArguments')}</p>
      ) : shown === 'form' && 'value' in read ? (
        <SchemaForm
          schema={schema}
          value={read.value}
          issues={shownIssues}
          report={report}
          onChange={(value) => onChange(JSON.stringify(value, null, 2))}
        />
      ) : (
        <JsonField text={text} label={t('editor.json')} schema={schema} onChange={onChange} />
      )}
      {'problem' in read && (
        <p className={uiStyle.problem} role="status">
          <ArgumentsProblem problem={read.problem} />
        </p>
      )}
      {otherIssues.length > 0 && (
        <Note tone="info">
          {t('inspect.schemaSays')}
          <ul>
            {otherIssues.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                {path !== '' && <SafeText text={untrusted(path)} inline />}{' '}
                <HostText text={untrusted(message)} inline />
              </li>
            ))}
          </ul>
        </Note>
      )}
    </div>
  )
}
