import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { Foreign } from './foreign.tsx'
import { type foreign, plainText } from './foreign-type.ts'

/** The author of a rule: a file with its line, or the program that runs the host. */
export function Author({ text }: { text: ReturnType<typeof foreign> }): ReactNode {
  const t = useText()
  return plainText(text) === 'this program' ? (
    t('rule.program')
  ) : (
    <Foreign text={text} maxCharacters={200} inline />
  )
}
