import type { ConfigPlan, ReviewedInstallation } from '@jackfield/host/browser'
import { type ReactNode, useDeferredValue, useMemo, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { PlanFacts } from '../config/change.tsx'
import { useAction, useHost, useRead } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Findings } from '../text/findings.tsx'
import { ErrorNote } from '../text/fixes.tsx'
import { HostText, SafeText } from '../text/safe-text.tsx'
import { type FromHost, plain, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Field, Note, uiStyle } from '../ui/ui.tsx'
import style from './settings.module.css'

type Need = ReviewedInstallation['needs'][number]

/** The review of a server of the registry before it is installed: its command, its inputs, and the change of the file. */
export function Installation({ published }: { published: string }): ReactNode {
  const t = useText()
  const [name, setName] = useState<string>()
  const { data, error, isPending } = useRead('registry.review', {
    published,
    ...(name !== undefined && { name }),
  })
  return (
    <div className={screen.stack}>
      <Link href={routes.setting.to('registry')} className={style.backLink ?? ''}>
        ‹ {t('settings.registry')}
      </Link>
      {error !== null && <ErrorNote error={error} />}
      {isPending && <p className={screen.muted}>{t('registry.reading')}</p>}
      {data !== undefined && <Review key={data.id} review={data} onName={setName} />}
    </div>
  )
}

type Values = Readonly<Record<string, string>>

interface EnteredValues {
  readonly needs: readonly Need[]
  /** What was entered for a need. */
  inputOf(need: Need): string
  /** Whether a need has its value in the secret store. */
  isStored(need: Need): boolean
  enter(need: Need, value: string): void
  /** Required needs without a value. */
  readonly missing: readonly Need[]
  /** Values by the id of their need. Those of secrets are empty, since the file gets their names instead. */
  readonly values: Values
  /** The entered secrets by the id of their need. */
  readonly secrets: Values
  forgetSecrets(): void
}

/** The values that a server needs, as they are entered. */
function useValues(review: FromHost<ReviewedInstallation>): EnteredValues {
  const needs = plain<readonly Need[]>(review.needs)
  const stored = useMemo(() => new Set(review.stored.map(plainText)), [review])
  const [plainValues, setPlainValues] = useState<Values>(() =>
    Object.fromEntries(
      needs.flatMap(({ id, secret, default: value }) =>
        secret === undefined && value !== undefined ? [[id, value]] : [],
      ),
    ),
  )
  // Secrets are in this state only, and are sent to the host with the installation.
  const [secrets, setSecrets] = useState<Values>({})
  const inputOf = ({ id, secret }: Need): string => (secret === undefined ? plainValues : secrets)[id] ?? ''
  const isStored = ({ secret }: Need): boolean => secret !== undefined && stored.has(secret)
  return {
    needs,
    inputOf,
    isStored,
    enter({ id, secret }, value) {
      if (secret === undefined) setPlainValues({ ...plainValues, [id]: value })
      else setSecrets({ ...secrets, [id]: value })
    },
    missing: needs.filter((need) => need.required && inputOf(need) === '' && !isStored(need)),
    values: {
      ...withoutEmpty(plainValues),
      ...Object.fromEntries(
        needs
          .filter((need) => need.secret !== undefined && (inputOf(need) !== '' || isStored(need)))
          .map(({ id }) => [id, '']),
      ),
    },
    secrets: withoutEmpty(secrets),
    forgetSecrets: () => setSecrets({}),
  }
}

function withoutEmpty(values: Values): Values {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
}

function Review({
  review,
  onName,
}: {
  review: FromHost<ReviewedInstallation>
  onName: (name: string) => void
}): ReactNode {
  const t = useText()
  const { client } = useHost()
  const [, navigate] = useLocation()
  const entered = useValues(review)
  const { needs, missing } = entered
  const deferredValues = useDeferredValue(JSON.stringify(entered.values))
  // Secrets are not in the file, so it can be shown without them.
  const isWhole = missing.every(({ secret }) => secret !== undefined)
  const preview = useRead(
    'installs.preview',
    { id: review.id, values: JSON.parse(deferredValues) },
    { enabled: isWhole && !review.isKnown },
  )
  const plan: FromHost<ConfigPlan> | undefined = isWhole ? preview.data : undefined
  const install = useAction(async () => {
    const server = await client.call('installs.install', {
      id: review.id,
      values: entered.values,
      secrets: entered.secrets,
      hash: plan?.hash === null || plan === undefined ? null : plainText(plan.hash),
    })
    entered.forgetSecrets()
    navigate(routes.server.to(server))
  })
  const isReady = missing.length === 0 && plan !== undefined && !review.isKnown && !install.isRunning
  return (
    <>
      <PublishedServer review={review} />
      {review.status === untrusted('deprecated') && <Note tone="warn">{t('registry.deprecated')}</Note>}
      <Findings findings={review.findings} />
      <Command review={review} />
      <section className={screen.section}>
        <h3>{t('registry.values')}</h3>
        <NameField review={review} onName={onName} />
        {needs.map((need) => (
          <NeedField
            key={need.id}
            need={need}
            isStored={entered.isStored(need)}
            value={entered.inputOf(need)}
            onChange={(value) => entered.enter(need, value)}
          />
        ))}
      </section>
      {plan !== undefined && (
        <section className={screen.section}>
          <h3>{t('registry.written')}</h3>
          <PlanFacts plan={plan} />
        </section>
      )}
      {(preview.error ?? install.error) != null && (
        <Note tone="danger" live>
          <HostText text={untrusted((preview.error ?? install.error)?.message ?? '')} />
        </Note>
      )}
      <div className={screen.bar}>
        <Button look="primary" data-act="install" isOff={!isReady} onClick={() => void install.run()}>
          {t(install.isRunning ? 'registry.installing' : 'registry.install')}
        </Button>
        {missing.length > 0 && (
          <span className={screen.muted}>
            {t('registry.missing')}{' '}
            <SafeText text={untrusted(missing.map(({ id }) => id).join(', '))} inline />
          </span>
        )}
      </div>
    </>
  )
}

/** The published name, version, publisher and description. */
function PublishedServer({ review }: { review: FromHost<ReviewedInstallation> }): ReactNode {
  const t = useText()
  const { published, version, publisher, repository, description } = review
  return (
    <header className={style.reviewHead}>
      <h3>
        <SafeText text={published} inline />
      </h3>
      <p className={screen.muted}>
        {version !== undefined && <SafeText text={version} inline />}
        {publisher !== undefined && (
          <>
            {' · '}
            {t('registry.by')} <SafeText text={publisher} inline />
          </>
        )}
        {repository !== undefined && (
          <>
            {' · '}
            <SafeText text={repository} maxCharacters={120} inline />
          </>
        )}
      </p>
      <p>
        <SafeText text={description} maxCharacters={600} />
      </p>
    </header>
  )
}

/** The words of the command, and the variables or headers that it gets. */
function Command({ review }: { review: FromHost<ReviewedInstallation> }): ReactNode {
  const t = useText()
  return (
    <section className={screen.section}>
      <h3>{t('registry.runs')}</h3>
      <ol className={style.argv} aria-label={t('registry.runs')}>
        {review.words.map((word, n) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: words of a command have no other identity
          <li key={n}>
            <SafeText text={word} />
          </li>
        ))}
      </ol>
      <dl className={screen.facts}>
        {review.digest !== undefined && (
          <>
            <dt>{t('registry.digest')}</dt>
            <dd className={style.code}>
              <SafeText text={untrusted(review.digest)} inline />
            </dd>
          </>
        )}
        {review.given.map(({ name, value }) => (
          <div key={plainText(name)} className={style.pair}>
            <dt>
              <SafeText text={name} inline />
            </dt>
            <dd className={style.code}>
              <SafeText text={value} maxCharacters={200} inline />
            </dd>
          </div>
        ))}
      </dl>
      <p className={screen.muted}>{t('registry.notStarted')}</p>
    </section>
  )
}

/** The name of the server in the configuration. A changed one is reviewed once the field is left. */
function NameField({
  review,
  onName,
}: {
  review: FromHost<ReviewedInstallation>
  onName: (name: string) => void
}): ReactNode {
  const t = useText()
  const current = plainText(review.name)
  const [typed, setTyped] = useState(current)
  const name = typed.trim()
  return (
    <Field
      label={t('registry.name')}
      problem={review.isKnown ? t('registry.isKnown', { name: current }) : undefined}
    >
      {(ids) => (
        <input
          {...ids}
          className={uiStyle.input}
          spellCheck={false}
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
          onBlur={() => {
            if (name !== '' && name !== current) onName(name)
          }}
        />
      )}
    </Field>
  )
}

function NeedField({
  need,
  isStored,
  value,
  onChange,
}: {
  need: Need
  isStored: boolean
  value: string
  onChange: (value: string) => void
}): ReactNode {
  const t = useText()
  const { id, description, secret, required, options, kind, multiple } = need
  const choices = kind === 'boolean' ? ['true', 'false'] : options
  return (
    <Field
      label={
        <>
          <SafeText text={untrusted(id)} inline />{' '}
          {!required && <span className={screen.muted}>{t('registry.optional')}</span>}
        </>
      }
      hint={
        <>
          {description !== undefined && (
            <div>
              <SafeText text={untrusted(description)} maxCharacters={300} />
            </div>
          )}
          {secret !== undefined && t(isStored ? 'registry.secretStored' : 'registry.secret')}
          {multiple === true && t('registry.perLine')}
        </>
      }
    >
      {(ids) =>
        choices !== undefined ? (
          <select
            {...ids}
            className={uiStyle.input}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          >
            <option value="" />
            {choices.map((choice) => (
              <option key={choice} value={choice}>
                {choice}
              </option>
            ))}
          </select>
        ) : multiple === true ? (
          <textarea
            {...ids}
            className={uiStyle.input}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        ) : (
          <input
            {...ids}
            className={uiStyle.input}
            type={secret === undefined ? 'text' : 'password'}
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={({ target }) => onChange(target.value)}
          />
        )
      }
    </Field>
  )
}
