import { Plus, X } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { useRead, useTopic } from '../data/host.tsx'
import { useText } from '../i18n/i18n.ts'
import { plainText } from '../text/untrusted-text.ts'
import { Button, Field, uiStyle, Views } from '../ui/ui.tsx'
import {
  callers,
  type DraftRule,
  type DraftTest,
  hints,
  scopes,
  testKinds,
  testProblem,
  verdicts,
} from './draft-rule.ts'
import style from './permissions.module.css'

/** The fields of a rule. */
export function RuleForm({
  draft,
  onChange,
}: {
  draft: DraftRule
  onChange: (draft: DraftRule) => void
}): ReactNode {
  const t = useText()
  const id = useId()
  const servers = useTopic('servers')
  const tools = useRead('catalog.tools', {}).data ?? []
  const ofServer = tools.filter(({ server }) => draft.server === '' || server === draft.server)
  const update = (part: Partial<DraftRule>): void => onChange({ ...draft, ...part })
  return (
    <div className={style.form}>
      <div className={style.verdicts}>
        <span className={uiStyle.label}>{t('permissions.verdict')}</span>
        <Views
          label={t('permissions.verdict')}
          views={verdicts.map((verdict) => [verdict, t(`rule.${verdict}`)] as const)}
          value={draft.verdict}
          onChange={(verdict) => update({ verdict })}
        />
      </div>
      <Field label={t('permissions.server')} hint={t('permissions.anyHint')}>
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            list={`${id}-servers`}
            placeholder="*"
            spellCheck={false}
            value={draft.server}
            onChange={({ target }) => update({ server: target.value })}
          />
        )}
      </Field>
      <datalist id={`${id}-servers`}>
        {[...(servers?.keys() ?? [])].map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field label={t('permissions.tool')} hint={t('permissions.globHint')}>
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            list={`${id}-tools`}
            placeholder="*"
            spellCheck={false}
            value={draft.tool}
            onChange={({ target }) => update({ tool: target.value })}
          />
        )}
      </Field>
      <datalist id={`${id}-tools`}>
        {[...new Set(ofServer.map(({ tool }) => plainText(tool.name)))].slice(0, 200).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field label={t('permissions.hint')}>
        {(ids) => (
          <select
            {...ids}
            className={uiStyle.input}
            value={draft.hint}
            onChange={({ target }) => update({ hint: hints.find((option) => option === target.value) ?? '' })}
          >
            <option value="">{t('permissions.anyHintValue')}</option>
            {hints.map((hint) => (
              <option key={hint} value={hint}>
                {t(`hint.${hint}`)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={t('permissions.label')} hint={t('permissions.labelHint')}>
        {(ids) => (
          <input
            {...ids}
            className={uiStyle.input}
            spellCheck={false}
            value={draft.label}
            onChange={({ target }) => update({ label: target.value })}
          />
        )}
      </Field>
      {draft.verdict === 'ask' && (
        <Field label={t('permissions.scope')} hint={t('permissions.scopeHint')}>
          {(ids) => (
            <select
              {...ids}
              className={uiStyle.input}
              value={draft.scope}
              onChange={({ target }) =>
                update({ scope: scopes.find((option) => option === target.value) ?? '' })
              }
            >
              <option value="">{t('permissions.neverRemembered')}</option>
              {scopes.map((scope) => (
                <option key={scope} value={scope}>
                  {t(`remember.${scope}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      <fieldset className={style.callers}>
        <legend>{t('permissions.callers')}</legend>
        {callers.map((caller) => (
          <label key={caller}>
            <input
              type="checkbox"
              checked={draft.callers.includes(caller)}
              onChange={({ target }) =>
                update({
                  callers: target.checked
                    ? [...draft.callers, caller]
                    : draft.callers.filter((selected) => selected !== caller),
                })
              }
            />
            {t(`permissions.caller.${caller}`)}
          </label>
        ))}
      </fieldset>
      <ArgumentTests tests={draft.tests} onChange={(tests) => update({ tests })} />
    </div>
  )
}

/** The conditions on arguments of a call, all of which must hold. */
function ArgumentTests({
  tests,
  onChange,
}: {
  tests: DraftRule['tests']
  onChange: (tests: DraftRule['tests']) => void
}): ReactNode {
  const t = useText()
  const setTest = (index: number, part: Partial<DraftTest>): void =>
    onChange(tests.map((test, i) => (i === index ? { ...test, ...part } : test)))
  return (
    <fieldset className={style.tests}>
      <legend>{t('permissions.tests')}</legend>
      {tests.map((test, n) => {
        const problem = testProblem(test)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition has no other identity while it is typed
          <div key={n} className={style.test}>
            <input
              className={uiStyle.input}
              aria-label={t('permissions.pointer')}
              placeholder="/path"
              spellCheck={false}
              value={test.at}
              onChange={({ target }) => setTest(n, { at: target.value })}
            />
            <select
              className={uiStyle.input}
              aria-label={t('permissions.test')}
              value={test.kind}
              onChange={({ target }) =>
                setTest(n, { kind: testKinds.find((kind) => kind === target.value) ?? 'glob' })
              }
            >
              {testKinds.map((kind) => (
                <option key={kind} value={kind}>
                  {t(`permissions.test.${kind}`)}
                </option>
              ))}
            </select>
            <input
              className={uiStyle.input}
              aria-label={t('permissions.value')}
              aria-invalid={problem !== undefined || undefined}
              spellCheck={false}
              value={test.value}
              onChange={({ target }) => setTest(n, { value: target.value })}
            />
            <Button
              small
              look="quiet"
              aria-label={t('permissions.removeTest')}
              onClick={() => onChange(tests.filter((_, i) => i !== n))}
            >
              <X size={16} strokeWidth={1.5} aria-hidden="true" />
            </Button>
            {problem !== undefined && <p className={uiStyle.problem}>{t(`permissions.${problem}`)}</p>}
          </div>
        )
      })}
      <Button small onClick={() => onChange([...tests, { at: '/', kind: 'glob', value: '' }])}>
        <Plus size={14} strokeWidth={1.5} aria-hidden="true" /> {t('permissions.addTest')}
      </Button>
    </fieldset>
  )
}
