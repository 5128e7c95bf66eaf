import type { HostAnswers } from '@jackfield/host/browser'
import {
  type FormField,
  type FormValues,
  finishForm,
  makeVisible,
  planForm,
  problemWithField,
  readTyped,
  reviewForm,
} from '@jackfield/host/browser'
import { type ReactNode, useMemo, useState } from 'react'
import { useText } from '../i18n/i18n.ts'
import { ExactJson, HostText, SafeText, SafeTextBox } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import { Button, Field, Note, uiStyle, Views } from '../ui/ui.tsx'
import { type QuestionOf, type Row, useAnswer, useDraft } from './answer.ts'
import { DecisionButton } from './armed.tsx'
import { Card, Findings } from './card.tsx'
import style from './questions.module.css'

type FormParams = { message: string; requestedSchema: Parameters<typeof planForm>[0] }

/** An elicitation of a server: a form or an address to open. */
export function ElicitationCard({
  row,
  question,
}: {
  row: Row
  question: QuestionOf<'elicitation'>
}): ReactNode {
  const { params } = question
  return params.mode === 'url' ? (
    <PageCard row={row} question={question} url={plainText(params.url)} />
  ) : (
    <FormCard row={row} question={question} params={plain<FormParams>(params)} />
  )
}

type FormDraft = Readonly<Record<string, string | boolean | readonly string[]>>

const isFormDraft = (value: unknown): value is FormDraft =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  Object.values(value).every(
    (entry) => typeof entry === 'string' || typeof entry === 'boolean' || Array.isArray(entry),
  )

/** The value of the input of a field, or its problem. */
export function typedValue(
  field: FormField,
  typed: FormDraft[string] | undefined,
): { value: FormValues[string] | undefined } | { problem: string } {
  if (typeof typed === 'string' && field.kind !== 'choice') return readTyped(field, typed)
  const value =
    typed === undefined || typed === '' ? undefined : typeof typed === 'object' ? [...typed] : typed
  const problem = problemWithField(field, value)
  return problem === undefined ? { value } : { problem }
}

/** The initial input of a form: remembered values, else the defaults of the server. */
export function initialDraft(fields: readonly FormField[], remembered: FormValues = {}): FormDraft {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = Object.hasOwn(remembered, field.key) ? remembered[field.key] : field.default
      if (value === undefined) return []
      return [[field.key, typeof value === 'number' ? String(value) : value]]
    }),
  )
}

function FormCard({
  row,
  question,
  params,
}: {
  row: Row
  question: QuestionOf<'elicitation'>
  params: FormParams
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'elicitation'>(row)
  const plan = useMemo(() => planForm(params.requestedSchema, params.message), [params])
  const fields = 'fields' in plan ? plan.fields : []
  const remembered = plain<FormValues | undefined>(question.remembered)
  const [draft, keepDraft, forgetDraft] = useDraft(
    `${row.id}.form`,
    initialDraft(fields, remembered),
    isFormDraft,
  )
  // Values that look like secrets are kept in this component only, not in the stored draft.
  const [secrets, setSecrets] = useState<FormDraft>({})
  const [agreedFields, setAgreedFields] = useState<ReadonlySet<string>>(new Set())
  const [leftFields, setLeftFields] = useState<ReadonlySet<string>>(new Set())
  const [isReview, setReview] = useState(false)
  const [rememberedFields, setRememberedFields] = useState<ReadonlySet<string>>(
    new Set(Object.keys(remembered ?? {})),
  )
  const typed: FormDraft = { ...draft, ...secrets }
  const read = fields.map((field) => ({ field, outcome: typedValue(field, typed[field.key]) }))
  const values: FormValues = Object.fromEntries(
    read.flatMap(({ field, outcome }) =>
      'value' in outcome && outcome.value !== undefined ? [[field.key, outcome.value]] : [],
    ),
  )
  const invalid = read.filter(({ outcome }) => 'problem' in outcome)
  const unagreed = fields.filter(
    ({ key, secret }) => secret !== undefined && values[key] !== undefined && !agreedFields.has(key),
  )
  const finished = finishForm(params.requestedSchema, values)
  const content =
    invalid.length === 0 && unagreed.length === 0 && 'content' in finished ? finished.content : undefined
  const send = (answer: HostAnswers['elicitation']): void => {
    forgetDraft()
    answering.send(answer)
  }
  const change = (field: FormField, value: FormDraft[string] | undefined): void => {
    const { [field.key]: _, ...remaining } = field.secret === undefined ? draft : secrets
    const next = value === undefined ? remaining : { ...remaining, [field.key]: value }
    if (field.secret === undefined) keepDraft(next)
    else setSecrets(next)
  }
  return (
    <Card
      row={row}
      title="form.title"
      origin={question.origin !== undefined && <SafeText text={question.origin} maxCharacters={200} inline />}
      answering={answering}
      version={`${isReview} ${JSON.stringify(content ?? null)}`}
      deny={<DeclineButtons id={row.id} onDecide={(action) => send({ action })} />}
      allow={
        isReview ? (
          <>
            <Button onClick={() => setReview(false)} data-act="back">
              {t('form.back')}
            </Button>
            <DecisionButton
              look="primary"
              isOff={content === undefined}
              onDecide={() => {
                if (content === undefined) return
                const remember = [...rememberedFields].filter((key) =>
                  fields.some((field) => field.key === key && field.secret === undefined),
                )
                send({ action: 'accept', content, ...(remember.length > 0 && { remember }) })
              }}
              data-act="accept"
            >
              {t('form.accept')}
            </DecisionButton>
          </>
        ) : (
          <Button
            look="primary"
            isOff={'fault' in plan}
            onClick={() => {
              setLeftFields(new Set(fields.map(({ key }) => key)))
              if (content !== undefined) setReview(true)
              else
                document
                  .getElementById(`field-${row.id}-${invalid[0]?.field.key ?? unagreed[0]?.key}`)
                  ?.focus()
            }}
            data-act="review"
          >
            {t('form.review')}
          </Button>
        )
      }
    >
      <SafeTextBox text={untrusted(params.message)} label={t('form.message')} />
      <Findings findings={question.findings} />
      {'fault' in plan && (
        <Note tone="danger">
          {t('form.fault')} <SafeText text={untrusted(plan.fault)} />
        </Note>
      )}
      {row.state === 'open' && !isReview && (
        <div className={style.form}>
          {read.map(({ field, outcome }) => (
            <FormRow
              key={field.key}
              id={`field-${row.id}-${field.key}`}
              field={field}
              typed={typed[field.key]}
              isRemembered={remembered !== undefined && Object.hasOwn(remembered, field.key)}
              problem={leftFields.has(field.key) && 'problem' in outcome ? outcome.problem : undefined}
              isAgreed={agreedFields.has(field.key)}
              onAgree={(isOn) => setAgreedFields(toggleIn(agreedFields, field.key, isOn))}
              onChange={(value) => change(field, value)}
              onLeave={() => afterPress(() => setLeftFields((before) => toggleIn(before, field.key, true)))}
            />
          ))}
        </div>
      )}
      {row.state === 'open' && isReview && content !== undefined && (
        <FormReview
          fields={fields}
          content={content}
          rememberedFields={rememberedFields}
          onRemember={(key, isOn) => setRememberedFields(toggleIn(rememberedFields, key, isOn))}
        />
      )}
    </Card>
  )
}

/** Declines the request, or cancels it without a decision. */
function DeclineButtons({
  id,
  onDecide,
}: {
  id: string
  onDecide: (action: 'decline' | 'cancel') => void
}): ReactNode {
  const t = useText()
  return (
    <>
      <DecisionButton
        onDecide={() => onDecide('decline')}
        data-act="decline"
        aria-describedby={`decline-${id}`}
      >
        {t('form.decline')}
      </DecisionButton>
      <DecisionButton
        look="quiet"
        onDecide={() => onDecide('cancel')}
        data-act="cancel"
        aria-describedby={`cancel-${id}`}
      >
        {t('form.cancel')}
      </DecisionButton>
      <span className="hidden-text" id={`decline-${id}`}>
        {t('form.declineMeans')}
      </span>
      <span className="hidden-text" id={`cancel-${id}`}>
        {t('form.cancelMeans')}
      </span>
    </>
  )
}

/** The values as they are sent, each with the choice to remember it. */
function FormReview({
  fields,
  content,
  rememberedFields,
  onRemember,
}: {
  fields: readonly FormField[]
  content: Parameters<typeof reviewForm>[1]
  rememberedFields: ReadonlySet<string>
  onRemember: (key: string, isOn: boolean) => void
}): ReactNode {
  const t = useText()
  const [view, setView] = useState<'list' | 'json'>('list')
  return (
    <>
      <p>{t('form.reviewIntro')}</p>
      <Views
        label={t('form.review')}
        views={[
          ['list', t('form.reviewList')],
          ['json', 'JSON'],
        ]}
        value={view}
        onChange={setView}
      />
      {view === 'json' ? (
        <ExactJson value={content} label={t('form.reviewIntro')} />
      ) : (
        <div className={style.untrusted}>
          <table className={style.table}>
            <tbody>
              {reviewForm(fields, content).map(({ key, label, value }) => (
                <tr key={key}>
                  <th scope="row">
                    <SafeText text={untrusted(label)} inline />
                  </th>
                  <td>
                    <SafeText text={untrusted(value)} />
                  </td>
                  <td>
                    {fields.find((field) => field.key === key)?.secret === undefined && (
                      <label className={style.row}>
                        <input
                          type="checkbox"
                          checked={rememberedFields.has(key)}
                          onChange={({ target }) => onRemember(key, target.checked)}
                        />{' '}
                        {t('form.remember')}
                      </label>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  )
}

/** Calls a function once no pointer button is pressed, since its effect would move the target of the press. */
function afterPress(show: () => void): void {
  if (document.querySelector(':active') === null) show()
  else
    for (const end of ['pointerup', 'pointercancel'])
      addEventListener(end, () => setTimeout(show), { once: true })
}

function toggleIn(set: ReadonlySet<string>, key: string, isOn: boolean): ReadonlySet<string> {
  const next = new Set(set)
  if (isOn) next.add(key)
  else next.delete(key)
  return next
}

/** Choices that are shown as buttons; longer ones are a list. */
const maxButtons = 7

function FormRow({
  id,
  field,
  typed,
  isRemembered,
  problem,
  isAgreed,
  onAgree,
  onChange,
  onLeave,
}: {
  id: string
  field: FormField
  typed: FormDraft[string] | undefined
  isRemembered: boolean
  problem: string | undefined
  isAgreed: boolean
  onAgree: (isOn: boolean) => void
  onChange: (value: FormDraft[string] | undefined) => void
  onLeave: () => void
}): ReactNode {
  const t = useText()
  const { kind, choices = [], secret } = field
  const label = (
    <>
      <SafeText text={untrusted(field.label)} inline />{' '}
      <span className={uiStyle.hint}>{t(field.required ? 'form.required' : 'form.optional')}</span>
    </>
  )
  const hint = (
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
  if (kind === 'boolean' || (kind === 'choice' && choices.length <= maxButtons) || kind === 'choices') {
    const options =
      kind === 'boolean'
        ? ([
            ['true', t('form.yes')],
            ['false', t('form.no')],
          ] as const)
        : choices.map(
            (choice) =>
              [choice.value, <SafeText key={choice.value} text={untrusted(choice.label)} inline />] as const,
          )
    const chosen = Array.isArray(typed) ? typed : typed === undefined ? [] : [String(typed)]
    return (
      <fieldset id={id} tabIndex={-1} className={uiStyle.field} onBlur={onLeave}>
        <legend className={uiStyle.label}>{label}</legend>
        <div className={uiStyle.hint}>{hint}</div>
        <div className={style.options}>
          {options.map(([value, text]) => (
            <label key={value} className={style.option}>
              <input
                type={kind === 'choices' ? 'checkbox' : 'radio'}
                name={id}
                checked={chosen.includes(value)}
                onChange={({ target }) => {
                  if (kind === 'boolean') onChange(value === 'true')
                  else if (kind === 'choice') onChange(value)
                  else
                    onChange(
                      choices
                        .map((choice) => choice.value)
                        .filter((candidate) =>
                          candidate === value ? target.checked : chosen.includes(candidate),
                        ),
                    )
                }}
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
        {kind === 'choices' && (
          <div className={uiStyle.hint}>{t('form.chosen', { count: chosen.length })}</div>
        )}
        {problem !== undefined && (
          <div className={uiStyle.problem}>
            <HostText text={untrusted(problem)} />
          </div>
        )}
      </fieldset>
    )
  }
  const text = typeof typed === 'string' ? typed : ''
  return (
    <div className={uiStyle.field}>
      <Field
        label={label}
        hint={hint}
        problem={problem === undefined ? undefined : <HostText text={untrusted(problem)} />}
      >
        {({ id: _, ...ids }) =>
          kind === 'choice' ? (
            <select
              {...ids}
              id={id}
              aria-label={makeVisible(field.label)}
              className={uiStyle.input}
              value={text}
              onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
              onBlur={onLeave}
            >
              <option value="">{t('form.none')}</option>
              {choices.map((choice) => (
                <option key={choice.value} value={choice.value}>
                  {makeVisible(choice.label)}
                </option>
              ))}
            </select>
          ) : (
            <input
              {...ids}
              id={id}
              aria-label={makeVisible(field.label)}
              className={uiStyle.input}
              type={
                secret !== undefined
                  ? 'password'
                  : kind === 'date'
                    ? 'date'
                    : kind === 'email'
                      ? 'email'
                      : 'text'
              }
              inputMode={
                kind === 'integer'
                  ? 'numeric'
                  : kind === 'number'
                    ? 'decimal'
                    : kind === 'uri'
                      ? 'url'
                      : undefined
              }
              autoComplete="off"
              value={text}
              onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
              onBlur={onLeave}
            />
          )
        }
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

/** An address in three parts, with the host emphasized. */
export function Address({ url }: { url: string }): ReactNode {
  const t = useText()
  const parsed = URL.parse(url)
  if (parsed === null || parsed.host === '')
    return (
      <div className={style.untrusted}>
        <span className={style.address}>
          <SafeText text={untrusted(url)} />
        </span>
        <Note tone="danger">{t('page.noAddress')}</Note>
      </div>
    )
  const { href, hostname } = parsed
  const credentials = parsed.username === '' ? 0 : href.indexOf('@') + 1
  const from = href.indexOf(hostname, Math.max(href.indexOf('//') + 2, credentials))
  return (
    <div className={style.untrusted}>
      <div className={style.site} data-site>
        <SafeText text={untrusted(parsed.host)} />
      </div>
      <div className={style.address}>
        <SafeText text={untrusted(href.slice(0, from))} />
        <strong>
          <SafeText text={untrusted(hostname)} />
        </strong>
        <SafeText text={untrusted(href.slice(from + hostname.length))} />
      </div>
    </div>
  )
}

/** Whether an address may be opened: https, or http on this machine. */
export function canOpen(url: string): boolean {
  const parsed = URL.parse(url)
  if (parsed === null) return false
  const { protocol, hostname } = parsed
  const isLocal =
    hostname === 'localhost' ||
    hostname.endsWith('.localhost') ||
    hostname === '[::1]' ||
    /^127(\.\d+){3}$/.test(hostname)
  return protocol === 'https:' || (protocol === 'http:' && isLocal)
}

function PageCard({
  row,
  question,
  url,
}: {
  row: Row
  question: QuestionOf<'elicitation'>
  url: string
}): ReactNode {
  const t = useText()
  const answering = useAnswer<'elicitation'>(row)
  const { visit, params } = question
  const isDangerous = question.findings?.some(({ severity }) => severity === 'danger') === true
  return (
    <Card
      row={row}
      title={visit === undefined ? 'page.title' : 'page.visitTitle'}
      origin={question.origin !== undefined && <SafeText text={question.origin} maxCharacters={200} inline />}
      answering={answering}
      deny={
        visit === undefined ? (
          <>
            <DecisionButton onDecide={() => answering.send({ action: 'decline' })} data-act="decline">
              {t('form.decline')}
            </DecisionButton>
            <DecisionButton
              look="quiet"
              onDecide={() => answering.send({ action: 'cancel' })}
              data-act="cancel"
            >
              {t('form.cancel')}
            </DecisionButton>
          </>
        ) : (
          <DecisionButton onDecide={() => answering.send({ action: 'cancel' })} data-act="give-up">
            {t('page.giveUp')}
          </DecisionButton>
        )
      }
      allow={
        visit === undefined ? (
          <DecisionButton
            look={isDangerous ? undefined : 'primary'}
            isOff={!canOpen(url)}
            onDecide={() => answering.send({ action: 'accept', visit: 'self' })}
            data-act="accept"
          >
            {t('page.agree')}
          </DecisionButton>
        ) : (
          <>
            <a
              className={uiStyle.button}
              href={canOpen(url) ? url : undefined}
              target="_blank"
              rel="noopener noreferrer"
            >
              {t('page.open')}
            </a>
            <DecisionButton
              look="primary"
              onDecide={() => answering.send({ action: 'accept' })}
              data-act="done"
            >
              {t('page.done')}
            </DecisionButton>
          </>
        )
      }
    >
      <SafeTextBox text={params.message} label={t('form.message')} />
      <Address url={url} />
      <Findings findings={question.findings} />
      {visit?.problem !== undefined && (
        <Note tone="warn">
          <HostText text={visit.problem} />
        </Note>
      )}
      <p className={style.settled}>{t(visit === undefined ? 'page.nothingFetched' : 'page.waits')}</p>
    </Card>
  )
}
