import type { Rule } from './rule.ts'
import { cancellingRules } from './rules/cancelling.ts'
import { contentRules } from './rules/contents.ts'
import { definitionRules } from './rules/definitions.ts'
import { keepingRules } from './rules/keeping.ts'
import { messageRules } from './rules/messages.ts'
import { offerRules } from './rules/offers.ts'
import { progressRules } from './rules/progress.ts'
import { questionRules } from './rules/questions.ts'
import { roundRules } from './rules/rounds.ts'
import { sessionRules } from './rules/sessions.ts'
import { statelessRules } from './rules/stateless.ts'
import { newerTaskRules } from './rules/tasks-newer.ts'
import { olderTaskRules } from './rules/tasks-older.ts'
import { urlElicitationRules } from './rules/url-elicitation.ts'

/** Every rule that is checked in all cells. */
export const rules: readonly Rule[] = [
  ...messageRules,
  ...sessionRules,
  ...statelessRules,
  ...cancellingRules,
  ...progressRules,
  ...offerRules,
  ...contentRules,
  ...definitionRules,
  ...questionRules,
  ...urlElicitationRules,
  ...roundRules,
  ...keepingRules,
  ...olderTaskRules,
  ...newerTaskRules,
]
