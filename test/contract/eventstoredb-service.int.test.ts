/**
 * Answers of the in-memory EventStoreDB to the real client over real gRPC. They compare the service with the
 * server's source, not with a real server.
 */
import { checkAppends } from '../support/eventstoredb/checks/appends.ts';
import { checkFaults } from '../support/eventstoredb/checks/faults.ts';
import { checkNodes } from '../support/eventstoredb/checks/nodes.ts';
import { checkProgram } from '../support/eventstoredb/checks/program.ts';
import { checkReads } from '../support/eventstoredb/checks/reads.ts';
import { checkSubscriptions } from '../support/eventstoredb/checks/subscriptions.ts';

checkAppends();
checkReads();
checkSubscriptions();
checkFaults();
checkNodes();
checkProgram();
