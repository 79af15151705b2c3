package stateful

var PatientFS = patientFS
