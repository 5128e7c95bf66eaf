import { makeVisible } from '@jackfield/host/browser'
import type { Issue } from '@jackfield/sdk/schema'
import { Plus, X } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { useText } from '../i18n/i18n.ts'
import { type ReportUnreadable, useJsonText } from '../questions/json-text.ts'
import { isRecord } from '../text/pieces.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Button, Field, RequiredMark, uiStyle } from '../ui/ui.tsx'
import style from './inspect.module.css'
import { describeSchema, type Schema, typeNames } from './schema.ts'

const maxDepth = 5
/** Characters of a default that an empty field shows. */
const maxDefault = 200

interface Common {
  readonly root: Schema
  readonly issues: readonly Issue[]
  readonly depth: number
  readonly report: ReportUnreadable
}

/** A form of an object by its JSON Schema, including nested objects and lists. Other values are edited as JSON. */
export function SchemaForm({
  schema,
  value,
  issues,
  onChange,
  report,
}: {
  schema: Schema
  value: Readonly<Record<string, unknown>>
  /** The validation issues of the value. */
  issues: readonly Issue[]
  onChange: (value: Record<string, unknown>) => void
  report: ReportUnreadable
}): ReactNode {
  return (
    <div className={style.form}>
      <Members
        schema={schema}
        value={value}
        pointer=""
        onChange={onChange}
        common={{ root: schema, issues, depth: 0, report }}
      />
    </div>
  )
}

function Members({
  schema,
  value,
  pointer,
  onChange,
  common,
}: {
  schema: Schema
  value: Readonly<Record<string, unknown>>
  pointer: string
  onChange: (value: Record<string, unknown>) => void
  common: Common
}): ReactNode {
  const { properties, required } = describeSchema(schema, common.root)
  return properties.map(([name, property]) => (
    <Member
      key={name}
      name={name}
      schema={property}
      isRequired={required.has(name)}
      value={value[name]}
      pointer={`${pointer}/${escaped(name)}`}
      common={common}
      onChange={(next) => {
        const { [name]: _, ...remaining } = value
        // An existing value keeps its position.
        onChange(
          next === undefined
            ? remaining
            : name in value
              ? { ...value, [name]: next }
              : { ...remaining, [name]: next },
        )
      }}
    />
  ))
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

interface MemberProps {
  readonly name: string
  readonly schema: Schema
  readonly isRequired: boolean
  readonly value: unknown
  readonly pointer: string
  readonly common: Common
  readonly onChange: (value: unknown) => void
}

function Member(props: MemberProps): ReactNode {
  const { name, schema, isRequired, value, pointer, common, onChange } = props
  const t = useText()
  const view = describeSchema(schema, common.root)
  const memberIssues = common.issues.filter(({ path }) => path === pointer)
  const label = (
    <>
      <SafeText text={untrusted(name)} inline />
      {isRequired && <RequiredMark title={t('schema.required')} />}
      <span className={style.type}>
        <SafeText text={untrusted(typeNames(view, common.root))} inline maxCharacters={60} />
      </span>
    </>
  )
  const hint = view.description !== undefined && (
    <SafeText text={untrusted(view.description)} maxCharacters={400} />
  )
  const problem =
    memberIssues.length > 0 &&
    memberIssues.map(({ message }) => <HostText key={message} text={untrusted(message)} />)
  const isNested = view.kind === 'object' && view.properties.length > 0 && common.depth < maxDepth
  if (isNested && (value === undefined || isRecord(value)))
    return (
      <Group label={label} hint={hint} problem={problem}>
        <Members
          schema={view.schema}
          value={isRecord(value) ? value : {}}
          pointer={pointer}
          common={{ ...common, depth: common.depth + 1 }}
          onChange={(next) => onChange(Object.keys(next).length === 0 && !isRequired ? undefined : next)}
        />
      </Group>
    )
  const { items } = view
  if (
    view.kind === 'array' &&
    items !== undefined &&
    common.depth < maxDepth &&
    (value === undefined || Array.isArray(value))
  ) {
    const list: readonly unknown[] = Array.isArray(value) ? value : []
    const change = (next: readonly unknown[]): void =>
      onChange(next.length === 0 && !isRequired ? undefined : next)
    return (
      <Group label={label} hint={hint} problem={problem}>
        {list.map((item, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items of a list have no other identity
          <div className={style.item} key={n}>
            <Member
              name={String(n)}
              schema={items}
              isRequired
              value={item}
              pointer={`${pointer}/${n}`}
              common={{ ...common, depth: common.depth + 1 }}
              onChange={(next) => change(list.map((item, i) => (i === n ? (next ?? null) : item)))}
            />
            <Button
              small
              look="quiet"
              aria-label={t('schema.removeItem', { item: n + 1 })}
              onClick={() => change(list.filter((_, i) => i !== n))}
            >
              <X size={16} strokeWidth={1.5} aria-hidden="true" />
            </Button>
          </div>
        ))}
        <Button small onClick={() => change([...list, emptyOf(items, common.root)])} className={style.add}>
          <Plus size={16} strokeWidth={1.5} aria-hidden="true" /> {t('schema.addItem')}
        </Button>
      </Group>
    )
  }
  return <Leaf {...props} label={label} hint={hint} problem={problem} />
}

function emptyOf(schema: Schema, root: Schema): unknown {
  const { kind, choices, fallback } = describeSchema(schema, root)
  if (fallback !== undefined) return fallback
  if (choices !== undefined) return choices[0]?.value ?? null
  return { string: '', number: 0, integer: 0, boolean: false, object: {}, array: [], any: null }[kind]
}

function Group({
  label,
  hint,
  problem,
  children,
}: {
  label: ReactNode
  hint: ReactNode
  problem: ReactNode
  children: ReactNode
}): ReactNode {
  const id = useId()
  return (
    <fieldset className={style.group} aria-describedby={problem ? `${id}-problem` : undefined}>
      <legend className={uiStyle.label}>{label}</legend>
      {hint && <div className={uiStyle.hint}>{hint}</div>}
      {problem && (
        <div className={uiStyle.problem} id={`${id}-problem`}>
          {problem}
        </div>
      )}
      {children}
    </fieldset>
  )
}

function Leaf({
  schema,
  isRequired,
  value,
  pointer,
  common,
  onChange,
  label,
  hint,
  problem,
}: MemberProps & { label: ReactNode; hint: ReactNode; problem: ReactNode }): ReactNode {
  const t = useText()
  const view = describeSchema(schema, common.root)
  const { choices, kind } = view
  const placeholder =
    view.fallback === undefined
      ? undefined
      : t('schema.default', { value: makeVisible(JSON.stringify(view.fallback)).slice(0, maxDefault) })
  const shown = { label, hint: hint || undefined, problem: problem || undefined }
  const isChoice =
    choices !== undefined &&
    (value === undefined || choices.some((choice) => isEqualJson(choice.value, value)))
  if (isChoice || (kind === 'boolean' && (value === undefined || typeof value === 'boolean'))) {
    const all = choices ?? [
      { value: true, label: t('form.yes') },
      { value: false, label: t('form.no') },
    ]
    return (
      <Field {...shown}>
        {(ids) => (
          <select
            {...ids}
            className={uiStyle.input}
            value={
              value === undefined ? '' : String(all.findIndex((choice) => isEqualJson(choice.value, value)))
            }
            onChange={({ target }) =>
              onChange(target.value === '' ? undefined : all[Number(target.value)]?.value)
            }
          >
            <option value="">{placeholder ?? t('form.none')}</option>
            {all.map((choice, n) => (
              <option key={choice.label} value={n}>
                {makeVisible(choice.label)}
              </option>
            ))}
          </select>
        )}
      </Field>
    )
  }
  if (kind === 'string' && (value === undefined || typeof value === 'string'))
    return (
      <Field {...shown}>
        {(ids) => (
          <textarea
            {...ids}
            className={`${uiStyle.input} ${style.text}`}
            rows={1}
            autoComplete="off"
            spellCheck={false}
            placeholder={placeholder}
            value={value ?? ''}
            onChange={({ target }) => onChange(target.value === '' && !isRequired ? undefined : target.value)}
          />
        )}
      </Field>
    )
  return (
    <JsonLeaf
      {...shown}
      field={pointer}
      value={value}
      isNumber={kind === 'number' || kind === 'integer'}
      placeholder={placeholder}
      report={common.report}
      onChange={onChange}
    />
  )
}

/** A field whose text is JSON, or a number. */
function JsonLeaf({
  label,
  hint,
  problem,
  placeholder,
  ...field
}: Parameters<typeof useJsonText>[0] & {
  label: ReactNode
  hint: ReactNode
  problem: ReactNode
  placeholder: string | undefined
}): ReactNode {
  const t = useText()
  const { text, isUnreadable, onInput, onBlur } = useJsonText(field)
  const { isNumber } = field
  const control = {
    autoComplete: 'off',
    spellCheck: false,
    placeholder,
    value: text,
    onChange: ({ target }: { target: { value: string } }) => onInput(target.value),
    onBlur,
  }
  return (
    <Field
      label={label}
      hint={hint}
      problem={isUnreadable ? t(isNumber ? 'form.notNumber' : 'form.notJson') : problem}
    >
      {(ids) =>
        isNumber ? (
          <input {...ids} {...control} className={`${uiStyle.input} ${uiStyle.mono}`} inputMode="decimal" />
        ) : (
          <textarea
            {...ids}
            {...control}
            className={`${uiStyle.input} ${uiStyle.mono} ${style.text}`}
            rows={1}
          />
        )
      }
    </Field>
  )
}

function isEqualJson(first: unknown, second: unknown): boolean {
  return JSON.stringify(first) === JSON.stringify(second)
}
