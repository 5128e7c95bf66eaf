import { type FormField, makeVisible } from '@jackfield/host/browser'
import type { InputHTMLAttributes, ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { untrusted } from '../text/untrusted-text.ts'
import { Button, Field, Note, uiStyle } from '../ui/ui.tsx'
import style from './questions.module.css'

/** The input of one field. */
export type FieldInput = string | boolean | readonly string[]

interface FormFieldProps {
  /** The id of the control, which gets the focus if the value is invalid. */
  id: string
  field: FormField
  typed: FieldInput | undefined
  isRemembered: boolean
  problem: string | undefined
  isAgreed: boolean
  /** Called when the user agrees to send a value that looks like a secret, or no longer agrees. */
  onAgree: (isOn: boolean) => void
  onChange: (value: FieldInput | undefined) => void
  onLeave: () => void
}

/** One field of an elicitation form with the control for its kind. */
export function FormFieldRow(props: FormFieldProps): ReactNode {
  const { kind, choices = [] } = props.field
  const isButtons =
    kind === 'boolean' || kind === 'choices' || (kind === 'choice' && choices.length <= maxButtons)
  return isButtons ? <OptionButtons {...props} /> : <TypedField {...props} />
}

/** Choices that are shown as buttons; longer ones are a list. */
const maxButtons = 7

function FieldLabel({ field: { label, required } }: { field: FormField }): ReactNode {
  const t = useText()
  return (
    <>
      <SafeText text={untrusted(label)} inline />{' '}
      <span className={uiStyle.hint}>{t(required ? 'form.required' : 'form.optional')}</span>
    </>
  )
}

function FieldHint({ field, isRemembered }: Pick<FormFieldProps, 'field' | 'isRemembered'>): ReactNode {
  const t = useText()
  return (
    <>
      {field.description !== undefined && (
        <SafeText text={untrusted(field.description)} maxCharacters={1_000} />
      )}
      {field.constraint !== undefined && (
        <div>
          <HostText text={untrusted(field.constraint)} />
        </div>
      )}
      {isRemembered && <div>{t('form.remembered')}</div>}
      {!isRemembered && field.default !== undefined && <div>{t('form.default')}</div>}
    </>
  )
}

/** Radio buttons for one of a few values, or checkboxes for several. */
function OptionButtons({
  id,
  field,
  typed,
  isRemembered,
  problem,
  onChange,
  onLeave,
}: FormFieldProps): ReactNode {
  const t = useText()
  const { kind, choices = [] } = field
  const options: readonly (readonly [string, ReactNode])[] =
    kind === 'boolean'
      ? [
          ['true', t('form.yes')],
          ['false', t('form.no')],
        ]
      : choices.map(({ value, label }) => [value, <SafeText key={value} text={untrusted(label)} inline />])
  const chosen = Array.isArray(typed) ? typed : typed === undefined ? [] : [String(typed)]
  const choose = (value: string, isOn: boolean): void => {
    if (kind === 'boolean') onChange(value === 'true')
    else if (kind === 'choice') onChange(value)
    else
      onChange(
        choices
          .map((choice) => choice.value)
          .filter((candidate) => (candidate === value ? isOn : chosen.includes(candidate))),
      )
  }
  return (
    <fieldset
      id={id}
      tabIndex={-1}
      className={uiStyle.field}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) onLeave()
      }}
    >
      <legend className={uiStyle.label}>
        <FieldLabel field={field} />
      </legend>
      <div className={uiStyle.hint}>
        <FieldHint field={field} isRemembered={isRemembered} />
      </div>
      <div className={style.options}>
        {options.map(([value, text]) => (
          <label key={value} className={style.option}>
            <input
              type={kind === 'choices' ? 'checkbox' : 'radio'}
              name={id}
              checked={chosen.includes(value)}
              onChange={({ target }) => choose(value, target.checked)}
            />
            {text}
          </label>
        ))}
        {!field.required && typed !== undefined && (
          <Button small look="quiet" onClick={() => onChange(undefined)}>
            {t('form.clear')}
          </Button>
        )}
      </div>
      {kind === 'choices' && <div className={uiStyle.hint}>{t('form.chosen', { count: chosen.length })}</div>}
      {problem !== undefined && (
        <div className={uiStyle.problem}>
          <HostText text={untrusted(problem)} />
        </div>
      )}
    </fieldset>
  )
}

const inputAttributes: Partial<Record<FormField['kind'], InputHTMLAttributes<HTMLInputElement>>> = {
  date: { type: 'date' },
  email: { type: 'email' },
  integer: { inputMode: 'numeric' },
  number: { inputMode: 'decimal' },
  uri: { inputMode: 'url' },
}

/** An input, or a list of many choices. A value that looks like a secret is sent only with consent. */
function TypedField({
  id,
  field,
  typed,
  isRemembered,
  problem,
  isAgreed,
  onAgree,
  onChange,
  onLeave,
}: FormFieldProps): ReactNode {
  const t = useText()
  const { kind, choices = [], secret } = field
  return (
    <div className={uiStyle.field}>
      <Field
        id={id}
        label={<FieldLabel field={field} />}
        hint={<FieldHint field={field} isRemembered={isRemembered} />}
        problem={problem === undefined ? undefined : <HostText text={untrusted(problem)} />}
      >
        {(ids) => {
          const control = {
            ...ids,
            className: uiStyle.input,
            value: typeof typed === 'string' ? typed : '',
            onChange: ({ target: { value } }: { target: { value: string } }) =>
              onChange(value === '' ? undefined : value),
            onBlur: onLeave,
          }
          if (kind === 'choice')
            return (
              <select {...control}>
                <option value="">{t('form.none')}</option>
                {choices.map(({ value, label }) => (
                  <option key={value} value={value}>
                    {makeVisible(label)}
                  </option>
                ))}
              </select>
            )
          return (
            <input
              {...control}
              type="text"
              {...inputAttributes[kind]}
              {...(secret !== undefined && { type: 'password' })}
              autoComplete="off"
            />
          )
        }}
      </Field>
      {secret !== undefined && (
        <Note tone="danger">
          <p>{t('form.secret', { what: secret })}</p>
          <label className={style.agree}>
            <input type="checkbox" checked={isAgreed} onChange={({ target }) => onAgree(target.checked)} />{' '}
            {t('form.secretAgree')}
          </label>
        </Note>
      )}
    </div>
  )
}
