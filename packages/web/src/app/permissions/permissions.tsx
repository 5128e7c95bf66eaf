import type { PolicyRule } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { ChangeReview, FileLocation, useChange } from '../config/change.tsx'
import { useRead } from '../data/host.tsx'
import { useFormat, useText } from '../i18n/i18n.ts'
import { routes } from '../routes.ts'
import { Author } from '../text/author.tsx'
import { SafeText } from '../text/safe-text.tsx'
import { plain, plainText, untrusted } from '../text/untrusted-text.ts'
import screen from '../ui/screen.module.css'
import { Button, Empty, scrollIntoRow } from '../ui/ui.tsx'
import { type DraftRule, draftOf, emptyRule, ruleOf } from './draft-rule.ts'
import { Explain } from './explain.tsx'
import style from './permissions.module.css'
import { Preview } from './preview.tsx'
import { RememberedAnswers } from './remembered-answers.tsx'
import { RuleForm } from './rule-form.tsx'
import { Conditions, type Rule, VerdictLamp } from './rule-text.tsx'

const views = ['rules', 'given', 'explain', 'try'] as const
type View = (typeof views)[number]

/** The permissions screen: rules, remembered answers, an explanation of a decision, and a preview of a rule. */
export default function Permissions({ view: viewName }: { view?: string }): ReactNode {
  const t = useText()
  const view: View = views.find((name) => name === viewName) ?? 'rules'
  return (
    <div className={screen.screen}>
      <nav className={screen.tabs} aria-label={t('nav.permissions')}>
        {views.map((name) => (
          <Link
            key={name}
            href={routes.permission.to(name)}
            className={screen.tab ?? ''}
            aria-current={name === view ? 'page' : undefined}
            ref={name === view ? scrollIntoRow : undefined}
          >
            {t(`permissions.view.${name}`)}
          </Link>
        ))}
      </nav>
      <h2 className="hidden-text">{t(`permissions.view.${view}`)}</h2>
      {view === 'rules' && <Rules />}
      {view === 'given' && <RememberedAnswers />}
      {view === 'explain' && <Explain />}
      {view === 'try' && <TryRule />}
    </div>
  )
}

type RuleLocation = { file: string; index: number; line?: number }

function Rules(): ReactNode {
  const t = useText()
  const { number } = useFormat()
  const rules = useRead('policy.rules', {}).data
  const config = useRead('config.view', {})
  const hits = useRead('policy.hits', {}).data
  /** The author of the rule that is edited; empty for a new one. */
  const [edited, setEdited] = useState<string>()
  const change = useChange(() => setEdited(undefined))
  if (rules === undefined) return null
  const locations = new Map(
    (config.data?.rules ?? []).map((configured) => [
      plainText(configured.author),
      { ...configured, file: plainText(configured.file) },
    ]),
  )
  const hitsOf = ({ id, author }: Rule): number =>
    (hits ?? [])
      .filter((hit) => hit.rule === id && hit.author !== undefined && isSame(hit.author, author))
      .reduce((sum, { calls }) => sum + calls, 0)
  const isChangeable = config.data !== undefined
  return (
    <>
      <div className={screen.bar}>
        <p className={`${screen.muted} ${screen.grow}`}>
          {t('permissions.order')} {t('permissions.default', { verdict: t(`rule.${rules.defaultVerdict}`) })}
        </p>
        {isChangeable && (
          <Button look="primary" data-act="add" onClick={() => setEdited(edited === '' ? undefined : '')}>
            {t('permissions.add')}
          </Button>
        )}
      </div>
      {edited === '' && (
        <RuleEditor key="new" first={emptyRule} change={change} onClose={() => setEdited(undefined)} />
      )}
      {rules.rules.length === 0 && edited !== '' ? (
        <Empty title={t('permissions.noRules')}>
          <p>{t('permissions.noRulesMean')}</p>
        </Empty>
      ) : (
        <div className={style.rules}>
          <div className={style.rule} data-head aria-hidden="true">
            <span>{t('permissions.verdict')}</span>
            <span>{t('permissions.what')}</span>
            <span>{t('permissions.conditions')}</span>
            <span>{t('permissions.author')}</span>
            <span className={style.hits}>{t('permissions.hits')}</span>
            <span />
          </div>
          <ul aria-label={t('permissions.rules')}>
            {rules.rules.map((rule) => {
              const author = rule.author === undefined ? '' : plainText(rule.author)
              const location = locations.get(author)
              return (
                <li key={`${rule.id} ${author}`}>
                  <div
                    className={style.rule}
                    aria-current={(edited !== '' && edited === author) || undefined}
                  >
                    <VerdictLamp verdict={rule.verdict} />
                    <span className={style.what}>
                      <SafeText
                        text={rule.server === undefined ? untrusted('*') : untrusted(rule.server)}
                        inline
                      />{' '}
                      <SafeText text={rule.tool ?? untrusted('*')} maxCharacters={120} inline />
                    </span>
                    <span className={style.conditionsCell}>
                      <Conditions rule={rule} />
                    </span>
                    <span className={style.placeCell}>
                      {location === undefined ? (
                        <Author text={rule.author ?? untrusted('')} />
                      ) : (
                        <FileLocation file={location.file} line={location.line} />
                      )}
                    </span>
                    <span
                      className={style.hits}
                      title={t('permissions.hitsMean')}
                      data-label={t('permissions.hits')}
                    >
                      {number(hitsOf(rule))}
                    </span>
                    <span className={style.acts}>
                      <Link
                        className={screen.button ?? ''}
                        href={routes.permissionTry.to(ruleOf(draftOf(plain<PolicyRule>(rule))) ?? {})}
                      >
                        {t('permissions.try')}
                      </Link>
                      {location !== undefined && (
                        <>
                          <Button
                            small
                            data-act="edit"
                            onClick={() => setEdited(edited === author ? undefined : author)}
                          >
                            {t('permissions.edit')}
                          </Button>
                          <Button
                            small
                            data-act="remove"
                            onClick={() => {
                              setEdited(author)
                              void change.plan({ kind: 'rule', at: referenceOf(location), rule: null })
                            }}
                          >
                            {t('permissions.remove')}
                          </Button>
                        </>
                      )}
                    </span>
                  </div>
                  {edited !== '' && edited === author && location !== undefined && (
                    <RuleEditor
                      first={draftOf(plain<PolicyRule>(rule))}
                      location={location}
                      change={change}
                      onClose={() => setEdited(undefined)}
                    />
                  )}
                </li>
              )
            })}
          </ul>
        </div>
      )}
    </>
  )
}

const isSame = (first: unknown, second: unknown): boolean => first === second
const referenceOf = ({ file, index }: RuleLocation): { file: string; index: number } => ({ file, index })

/** Edits a rule: its fields, a preview of its decisions, and the resulting change of the file. */
function RuleEditor({
  first,
  location,
  change,
  onClose,
}: {
  first: DraftRule
  location?: RuleLocation
  change: ReturnType<typeof useChange>
  onClose: () => void
}): ReactNode {
  const t = useText()
  const [draft, setDraft] = useState(first)
  const rule = ruleOf(draft)
  return (
    <section
      className={style.editor}
      aria-label={t(location === undefined ? 'permissions.add' : 'permissions.edit')}
    >
      <RuleForm
        draft={draft}
        onChange={(next) => {
          setDraft(next)
          change.cancel()
        }}
      />
      <Preview draft={draft} />
      {change.planned === undefined && (
        <div className={screen.bar}>
          <Button
            look="primary"
            data-act="review"
            isOff={rule === undefined || change.isRunning}
            onClick={() =>
              rule !== undefined &&
              void change.plan({
                kind: 'rule',
                rule,
                ...(location !== undefined && { at: referenceOf(location) }),
              })
            }
          >
            {t('change.review')}
          </Button>
          <Button
            onClick={() => {
              change.cancel()
              onClose()
            }}
          >
            {t('change.cancel')}
          </Button>
        </div>
      )}
      <ChangeReview change={change} />
    </section>
  )
}

/** Previews a rule against recent calls; it can then be added to the configuration. */
function TryRule(): ReactNode {
  const t = useText()
  const search = useSearch()
  const [, navigate] = useLocation()
  const [draft, setDraft] = useState(() => draftFromSearch(search))
  const change = useChange(() => navigate(routes.permission.to('rules')))
  const isChangeable = useRead('config.view', {}).data !== undefined
  const rule = ruleOf(draft)
  return (
    <>
      <p className={screen.muted}>{t('permissions.tryMeans')}</p>
      <section className={style.editor} aria-label={t('permissions.view.try')}>
        <RuleForm
          draft={draft}
          onChange={(next) => {
            setDraft(next)
            change.cancel()
          }}
        />
        <Preview draft={draft} isOpen />
        {change.planned === undefined && isChangeable && (
          <div className={screen.bar}>
            <Button
              look="primary"
              data-act="review"
              isOff={rule === undefined || change.isRunning}
              onClick={() => rule !== undefined && void change.plan({ kind: 'rule', rule })}
            >
              {t('permissions.addThis')}
            </Button>
          </div>
        )}
        <ChangeReview change={change} />
      </section>
    </>
  )
}

/** The rule in the query of an address; an empty rule if it is invalid. */
function draftFromSearch(search: string): DraftRule {
  try {
    const parsed: unknown = JSON.parse(new URLSearchParams(search).get('rule') ?? 'null')
    if (typeof parsed !== 'object' || parsed === null) return { ...emptyRule, verdict: 'allow' }
    return draftOf({ id: '', verdict: 'allow', ...parsed })
  } catch {
    return { ...emptyRule, verdict: 'allow' }
  }
}
