/** `createMcpExpressApp` of the official SDK, which this package leaves to Express. */
import { type Uncovered, uncovered } from '../uncovered.ts'

export const createMcpExpressApp: Uncovered = uncovered(
  'createMcpExpressApp',
  'Write const app = express(); app.use(express.json()); app.use(localhostHostValidation()), from server/middleware/hostHeaderValidation.js',
)
