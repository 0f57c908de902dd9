/**
 * All operations of the API, chapter by chapter, in the order in which the description has them. A
 * new operation is one object in its chapter.
 */
import { callbackOperations } from "./callbacks.ts";
import { depositOperations } from "./deposits.ts";
import { invoiceOperations } from "./invoices.ts";
import type { Operation } from "./operation.ts";
import { readingOperations } from "./reading.ts";
import { reportOperations } from "./report.ts";
import { transactionOperations } from "./transactions.ts";
import { withdrawalOperations } from "./withdrawals.ts";

export const operations: readonly Operation[] = [
  ...depositOperations,
  ...invoiceOperations,
  ...withdrawalOperations,
  ...transactionOperations,
  ...readingOperations,
  ...reportOperations,
  ...callbackOperations,
];
