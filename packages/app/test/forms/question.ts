import type { ElicitParams } from '@jackfield/sdk'
import type { ElicitationQuestion } from '../../src/forms/heading.ts'

/** A question of the server `travel`, as the host shows it. */
export function questionOf<P extends ElicitParams>(
  params: P,
  more: Partial<ElicitationQuestion> = {},
): ElicitationQuestion & { params: P } {
  return { kind: 'elicitation', id: '0123456789abcdef', cause: { server: 'travel' }, ...more, params }
}
