import type { ReactNode } from 'react'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from './safe-text.tsx'
import { plainText, type untrusted } from './untrusted-text.ts'

/** The author of a rule: a file with its line, or the program that runs the host. */
export function Author({ text }: { text: ReturnType<typeof untrusted> }): ReactNode {
  const t = useText()
  return plainText(text) === 'this program' ? (
    t('rule.program')
  ) : (
    <SafeText text={text} maxCharacters={200} inline />
  )
}
