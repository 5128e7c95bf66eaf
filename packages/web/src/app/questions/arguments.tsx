import { makeVisible } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { rich, useText } from '../i18n/i18n.ts'
import { isRecord, leavesOf, type ValueChange } from '../text/pieces.ts'
import { Diff, SafeText, Value } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Field, Note, ScrollBox, uiStyle, Views } from '../ui/ui.tsx'
import { type ReportUnreadable, useJsonText } from './json-text.ts'
import style from './questions.module.css'

/** A table of arguments by JSON Pointer; paths, addresses and code first. Long values scroll in their row. */
export function ArgumentTable({ value }: { value: unknown }): ReactNode {
  const t = useText()
  const { leaves, more } = leavesOf(value)
  if (leaves.length === 1 && leaves[0]?.pointer === '') return <p>{t('arguments.none')}</p>
  return (
    <div className={style.untrusted}>
      <table className={style.table}>
        <tbody>
          {leaves.map(({ pointer, value: leaf }) => (
            <tr key={pointer}>
              <th scope="row">
                <SafeText text={untrusted(pointer)} inline />
              </th>
              <td>
                {typeof leaf === 'string' && leaf.length > 400 ? (
                  <>
                    <ScrollBox className={style.long} label={makeVisible(pointer)}>
                      <Value value={leaf} />
                    </ScrollBox>
                    <div className={style.was}>{t('arguments.length', { count: leaf.length })}</div>
                  </>
                ) : (
                  <Value value={leaf} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {more > 0 && <p>{t('arguments.more', { count: more })}</p>}
    </div>
  )
}

/** A table of changed arguments, with differences word by word. */
export function ChangeTable({ changes }: { changes: readonly ValueChange[] }): ReactNode {
  const t = useText()
  if (changes.length === 0) return <p>{t('arguments.same')}</p>
  const shown = (value: unknown): string =>
    typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return (
    <div className={style.untrusted}>
      <table className={style.table}>
        <tbody>
          {changes.map((change) => (
            <tr key={change.pointer}>
              <th scope="row">
                <SafeText text={untrusted(change.pointer)} inline />
              </th>
              <td>
                <Diff before={shown(change.before)} after={shown(change.after)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

type Schema = Readonly<Record<string, unknown>>

interface Property {
  readonly name: string
  readonly schema: Schema
  readonly required: boolean
}

function propertiesOf(schema: unknown): Property[] {
  if (!isRecord(schema) || !isRecord(schema['properties'])) return []
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  return Object.entries(schema['properties']).map(([name, property]) => ({
    name,
    schema: isRecord(property) ? property : {},
    required: required.includes(name),
  }))
}

/** Parses arguments as JSON; they have to be an object. */
export function readArguments(text: string): { value: Record<string, unknown> } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text)
    return isRecord(value) ? { value } : { problem: 'not-object' }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}

/** Why a text is not the JSON of arguments. */
export function ArgumentsProblem({ problem }: { problem: string }): ReactNode {
  const t = useText()
  return problem === 'not-object' ? t('editor.notObject') : <SafeText text={untrusted(problem)} />
}

/** Edits arguments in a form of their schema or as JSON. Both edit the same text. */
export function ArgumentEditor({
  schema,
  text,
  onChange,
  report,
}: {
  schema: unknown
  text: string
  onChange: (text: string) => void
  report: ReportUnreadable
}): ReactNode {
  const t = useText()
  const properties = propertiesOf(schema)
  const read = readArguments(text)
  const canForm = properties.length > 0 && 'value' in read
  const [view, setView] = useState<'form' | 'json'>('form')
  const shown = canForm ? view : 'json'
  return (
    <div className={style.sent}>
      {properties.length > 0 && (
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
      {shown === 'form' && 'value' in read ? (
        <div className={style.form}>
          {properties.map((property) => (
            <PropertyField
              key={property.name}
              property={property}
              value={read.value[property.name]}
              report={report}
              onChange={(value) => {
                const { [property.name]: _, ...remaining } = read.value
                onChange(
                  JSON.stringify(
                    value === undefined ? remaining : { ...read.value, [property.name]: value },
                    null,
                    2,
                  ),
                )
              }}
            />
          ))}
        </div>
      ) : (
        <Field
          label={t('editor.json')}
          problem={'problem' in read ? <ArgumentsProblem problem={read.problem} /> : undefined}
        >
          {(ids) => (
            <textarea
              {...ids}
              className={`${uiStyle.input} ${uiStyle.mono}`}
              rows={Math.min(20, text.split('\n').length + 1)}
              spellCheck={false}
              value={text}
              onChange={({ target }) => onChange(target.value)}
            />
          )}
        </Field>
      )}
    </div>
  )
}

function PropertyField({
  property: { name, schema, required },
  value,
  onChange,
  report,
}: {
  property: Property
  value: unknown
  onChange: (value: unknown) => void
  report: ReportUnreadable
}): ReactNode {
  const t = useText()
  const { type, description, enum: choices } = schema
  const isPlain = value === undefined || typeof value === 'string'
  const label = (
    <>
      <SafeText text={untrusted(name)} inline /> {required && <span aria-hidden="true">*</span>}
    </>
  )
  const hint =
    typeof description === 'string' ? (
      <SafeText text={untrusted(description)} maxCharacters={400} />
    ) : undefined
  const isNumber = type === 'number' || type === 'integer'
  if (Array.isArray(choices) && choices.every((choice) => typeof choice === 'string'))
    return (
      <Field label={label} hint={hint}>
        {(ids) => (
          <select
            {...ids}
            className={uiStyle.input}
            required={required}
            value={typeof value === 'string' ? value : ''}
            onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
          >
            <option value="">{t('form.none')}</option>
            {choices.map((choice) => (
              <option key={choice} value={choice}>
                {makeVisible(choice)}
              </option>
            ))}
          </select>
        )}
      </Field>
    )
  if (type === 'boolean')
    return (
      <Field label={label} hint={hint}>
        {(ids) => (
          <select
            {...ids}
            className={uiStyle.input}
            value={typeof value === 'boolean' ? String(value) : ''}
            onChange={({ target }) => onChange(target.value === '' ? undefined : target.value === 'true')}
          >
            <option value="">{t('form.none')}</option>
            <option value="true">{t('form.yes')}</option>
            <option value="false">{t('form.no')}</option>
          </select>
        )}
      </Field>
    )
  if (type === 'string' && isPlain)
    return (
      <Field label={label} hint={hint}>
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            required={required}
            autoComplete="off"
            value={value ?? ''}
            onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
          />
        )}
      </Field>
    )
  return (
    <JsonValueField
      {...{ label, hint, value, required, onChange, report }}
      field={`/${name}`}
      isNumber={isNumber}
    />
  )
}

/** Lines of a field for JSON before it scrolls. */
const maxRows = 12

/** A field whose text is JSON, or a number. */
function JsonValueField({
  label,
  hint,
  required,
  field,
  value,
  isNumber,
  onChange,
  report,
}: {
  label: ReactNode
  hint: ReactNode
  required: boolean
  field: string
  value: unknown
  isNumber: boolean
  onChange: (value: unknown) => void
  report: ReportUnreadable
}): ReactNode {
  const t = useText()
  const { text, isUnreadable, onInput } = useJsonText({ field, value, isNumber, onChange, report })
  return (
    <Field
      label={label}
      hint={hint}
      problem={isUnreadable ? t(isNumber ? 'form.notNumber' : 'form.notJson') : undefined}
    >
      {(ids) => {
        const control = {
          ...ids,
          className: `${uiStyle.input} ${uiStyle.mono}`,
          required,
          autoComplete: 'off',
          value: text,
          onChange: ({ target }: { target: { value: string } }) => onInput(target.value),
        }
        if (isNumber) return <input {...control} inputMode="decimal" />
        return <textarea {...control} spellCheck={false} rows={Math.min(maxRows, text.split('\n').length)} />
      }}
    </Field>
  )
}

/** Lists the fields with invalid text, which prevent sending. */
export function Unreadable({ fields }: { fields: readonly string[] }): ReactNode {
  const t = useText()
  if (fields.length === 0) return null
  const names = <SafeText text={untrusted(fields.join(', '))} maxCharacters={200} inline />
  return (
    <Note tone="warn" live>
      {rich(t, 'editor.unreadable', { fields: names })}
    </Note>
  )
}
