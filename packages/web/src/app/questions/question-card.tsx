import type { ReactNode } from 'react'
import { Part } from '../text/part.tsx'
import { loaded } from '../ui/loaded.tsx'
import type { Row } from './answer.ts'
import { AppCard } from './app.tsx'
import { ApprovalCard } from './approval.tsx'
import { DriftCard, InstallationCard, LoginCard, RootsCard, StartCard } from './consent.tsx'
import { InputCard } from './input.tsx'

const loadCard = {
  elicitation: () => import('./elicitation.tsx'),
  result: () => import('./result.tsx'),
  samplingRequest: () => import('./sampling-request.tsx'),
  samplingResult: () => import('./sampling-result.tsx'),
}
const ElicitationCard = loaded(loadCard.elicitation)
const ResultCard = loaded(loadCard.result)
const SamplingRequestCard = loaded(loadCard.samplingRequest)
const SamplingResultCard = loaded(loadCard.samplingResult)

// A question has to be shown also while the host restarts, when nothing can be loaded.
addEventListener('load', () => {
  for (const load of Object.values(loadCard)) load().catch(() => {})
})

/** One question, the same in its conversation, in the dock and in the inbox. */
export function QuestionCard({ row }: { row: Row }): ReactNode {
  return (
    <Part name={row.digest}>
      <CardOfKind row={row} />
    </Part>
  )
}

function CardOfKind({ row }: { row: Row }): ReactNode {
  const { question } = row
  // A question whose contents change gets a new card, so that no input for the old contents is sent.
  const key = row.digest
  switch (question.kind) {
    case 'approval':
      return <ApprovalCard key={key} row={row} question={question} />
    case 'result':
      return <ResultCard key={key} row={row} question={question} />
    case 'elicitation':
      return <ElicitationCard key={key} row={row} question={question} />
    case 'sampling-request':
      return <SamplingRequestCard key={key} row={row} question={question} />
    case 'sampling-result':
      return <SamplingResultCard key={key} row={row} question={question} />
    case 'roots':
      return <RootsCard key={key} row={row} question={question} />
    case 'start':
      return <StartCard key={key} row={row} question={question} />
    case 'input':
      return <InputCard key={key} row={row} question={question} />
    case 'installation':
      return <InstallationCard key={key} row={row} question={question} />
    case 'drift':
      return <DriftCard key={key} row={row} question={question} />
    case 'login':
      return <LoginCard key={key} row={row} question={question} />
    case 'app':
      return <AppCard key={key} row={row} question={question} />
  }
}
