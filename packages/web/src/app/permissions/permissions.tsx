import type { PolicyRule } from '@jackfield/host/browser'
import { type ReactNode, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { type Change, ChangeReview, FileLocation, useChange } from '../config/change.tsx'
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

interface RuleLocation {
  readonly file: string
  readonly index: number
  readonly line?: number
}

function Rules(): ReactNode {
  const t = useText()
  const rules = useRead('policy.rules', {}).data
  const config = useRead('config.view', {})
  const hits = useRead('policy.hits', {}).data
  /** The author of the rule that is edited; empty for a new one. */
  const [edited, setEdited] = useState<string>()
  const close = (): void => setEdited(undefined)
  const change = useChange(close)
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
        <RuleEditor label={t('permissions.add')} first={emptyRule} change={change}>
          {(rule) => <EditActions rule={rule} change={change} onClose={close} />}
        </RuleEditor>
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
              const isEdited = edited !== '' && edited === author
              return (
                <li key={`${rule.id} ${author}`}>
                  <RuleRow
                    rule={rule}
                    location={location}
                    hits={hitsOf(rule)}
                    isEdited={isEdited}
                    onEdit={() => setEdited(edited === author ? undefined : author)}
                    onRemove={(at) => {
                      setEdited(author)
                      void change.plan({ kind: 'rule', at, rule: null })
                    }}
                  />
                  {isEdited && location !== undefined && (
                    <RuleEditor
                      label={t('permissions.edit')}
                      first={draftOf(plain<PolicyRule>(rule))}
                      change={change}
                    >
                      {(edited) => (
                        <EditActions rule={edited} location={location} change={change} onClose={close} />
                      )}
                    </RuleEditor>
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

/** One rule in the order in which they are tried. Only rules of files can be edited and removed. */
function RuleRow({
  rule,
  location,
  hits,
  isEdited,
  onEdit,
  onRemove,
}: {
  rule: Rule
  location: RuleLocation | undefined
  hits: number
  isEdited: boolean
  onEdit: () => void
  onRemove: (at: ReturnType<typeof referenceOf>) => void
}): ReactNode {
  const t = useText()
  const { number } = useFormat()
  return (
    <div className={style.rule} aria-current={isEdited || undefined}>
      <VerdictLamp verdict={rule.verdict} />
      <span className={style.what}>
        <SafeText text={untrusted(rule.server ?? '*')} inline />{' '}
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
      <span className={style.hits} title={t('permissions.hitsMean')} data-label={t('permissions.hits')}>
        {number(hits)}
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
            <Button small data-act="edit" onClick={onEdit}>
              {t('permissions.edit')}
            </Button>
            <Button small data-act="remove" onClick={() => onRemove(referenceOf(location))}>
              {t('permissions.remove')}
            </Button>
          </>
        )}
      </span>
    </div>
  )
}

type EditedRule = ReturnType<typeof ruleOf>

/**
 * Edits a rule: its fields, a preview of its decisions, and the resulting change of the file. `children`: the buttons that plan the
 * change; the rule is undefined while it is invalid.
 */
function RuleEditor({
  label,
  first,
  change,
  showsCalls = false,
  children,
}: {
  label: string
  first: DraftRule
  change: Change
  showsCalls?: boolean
  children: (rule: EditedRule) => ReactNode
}): ReactNode {
  const [draft, setDraft] = useState(first)
  return (
    <section className={style.editor} aria-label={label}>
      <RuleForm
        draft={draft}
        onChange={(next) => {
          setDraft(next)
          change.cancel()
        }}
      />
      <Preview draft={draft} isOpen={showsCalls} />
      {change.planned === undefined && children(ruleOf(draft))}
      <ChangeReview change={change} />
    </section>
  )
}

/** Reviews the change, or cancels the editing. `location`: of the rule that is replaced. */
function EditActions({
  rule,
  location,
  change,
  onClose,
}: {
  rule: EditedRule
  location?: RuleLocation
  change: Change
  onClose: () => void
}): ReactNode {
  const t = useText()
  return (
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
  )
}

/** Previews a rule against recent calls; it can then be added to the configuration. */
function TryRule(): ReactNode {
  const t = useText()
  const search = useSearch()
  const [first] = useState(() => draftFromSearch(search))
  const [, navigate] = useLocation()
  const change = useChange(() => navigate(routes.permission.to('rules')))
  const isChangeable = useRead('config.view', {}).data !== undefined
  return (
    <>
      <p className={screen.muted}>{t('permissions.tryMeans')}</p>
      <RuleEditor label={t('permissions.view.try')} first={first} change={change} showsCalls>
        {(rule) =>
          isChangeable && (
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
          )
        }
      </RuleEditor>
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
