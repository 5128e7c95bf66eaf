import { type ReactNode, useState } from 'react'
import { useText } from '../i18n/i18n.ts'
import { SafeText } from '../text/safe-text.tsx'
import { plainText, untrusted } from '../text/untrusted-text.ts'
import { Field, uiStyle } from '../ui/ui.tsx'
import { type QuestionOf, type Row, useAnswer } from './answer.ts'
import { DecisionButton, DenyButton } from './armed.tsx'
import { Card } from './card.tsx'

/** Asks for a value that a server needs before it starts. It is kept in this input only until it is sent. */
export function InputCard({ row, question }: { row: Row; question: QuestionOf<'input'> }): ReactNode {
  const t = useText()
  const answering = useAnswer<'input'>(row)
  const { id, description, password = false, default: first, options } = question.input
  const [value, setValue] = useState(first === undefined ? '' : plainText(first))
  const isOpen = row.state === 'open'
  return (
    <Card
      row={row}
      title="input.title"
      answering={answering}
      deny={<DenyButton onDeny={() => answering.send({ verdict: 'deny' })} />}
      allow={
        <DecisionButton
          look="primary"
          isOff={value === ''}
          onDecide={() => {
            answering.send({ verdict: 'allow', value })
            setValue('')
          }}
          data-act="allow"
        >
          {t('input.allow')}
        </DecisionButton>
      }
    >
      {isOpen && (
        <Field
          label={<SafeText text={description ?? untrusted(id)} maxCharacters={300} inline />}
          hint={t(password ? 'input.secret' : 'input.stored')}
        >
          {(ids) =>
            options === undefined ? (
              <input
                {...ids}
                className={uiStyle.input}
                type={password ? 'password' : 'text'}
                autoComplete="off"
                spellCheck={false}
                value={value}
                onChange={({ target }) => setValue(target.value)}
              />
            ) : (
              <select
                {...ids}
                className={uiStyle.input}
                value={value}
                onChange={({ target }) => setValue(target.value)}
              >
                <option value="" />
                {options.map(plainText).map((option) => (
                  <option key={option} value={option}>
                    {option}
                  </option>
                ))}
              </select>
            )
          }
        </Field>
      )}
    </Card>
  )
}
